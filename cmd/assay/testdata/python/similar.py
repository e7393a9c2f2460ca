"""Prints how similar sentences are, as JSON, by a model that the runner has loaded: similar.py FOLDER SENTENCE…"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer

from assay_runner.subjects.programs import building
from assay_runner.subjects.recipes import given


def main(folder: str, sentences: list[str]) -> None:
    """Means over the tokens of each sentence, and the cosines between them."""
    loaded = building.load(given.recipe(Path(folder)), folder, torch.float32, 0)
    batch = AutoTokenizer.from_pretrained(folder)(sentences, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = loaded.model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).float()
    means = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
    found = {"cosines": (means @ means.T).tolist(), "parameters": loaded.parameters, "missing": loaded.weights["missing"]}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

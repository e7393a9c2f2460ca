"""Saves tiny models with real files into folders beside each other: save.py FOLDER."""

import os
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM

GONE = "bert.encoder.layer.1.output.dense.weight"
OWN_CONFIGURATION = """
from transformers import PretrainedConfig

class OwnConfig(PretrainedConfig):
    model_type = "own_of_test"
    def __init__(self, hidden_size=32, vocab_size=64, num_hidden_layers=2, **rest):
        self.hidden_size, self.vocab_size, self.num_hidden_layers = hidden_size, vocab_size, num_hidden_layers
        super().__init__(**rest)
"""
OWN_MODELING = """
import torch
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from .configuration_own import OwnConfig

class OwnModel(PreTrainedModel):
    config_class = OwnConfig
    base_model_prefix = "own"

    def __init__(self, config):
        super().__init__(config)
        self.embed = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.mix = torch.nn.Linear(config.hidden_size, config.hidden_size)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = self.embed(input_ids)
        return BaseModelOutput(last_hidden_state=hidden + torch.tanh(self.mix(hidden)))
"""
OWN_CONFIG = """{"model_type": "own_of_test",
 "auto_map": {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "modeling_own.OwnModel"}}"""


class Code:
    """What a pickle with code in it holds: a folder that appears when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def main(out: Path) -> None:
    """Saves the models."""
    torch.manual_seed(0)
    config = BertConfig(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)
    BertForMaskedLM(config).save_pretrained(out / "whole")
    tensors = load_file(out / "whole" / "model.safetensors")

    def variant(name: str) -> Path:
        return Path(shutil.copytree(out / "whole", out / name)) / "model.safetensors"

    save_file({k: v for k, v in tensors.items() if k != GONE}, variant("lacking"), metadata={"format": "pt"})
    save_file({**tensors, "extra.weight": torch.ones(3)}, variant("extra"), metadata={"format": "pt"})
    save_file({f"x.{k}": v for k, v in tensors.items()}, variant("another"), metadata={"format": "pt"})
    cut = variant("cut")
    cut.write_bytes(cut.read_bytes()[:-100])
    for name, state in (("pickled", tensors), ("evil", {**tensors, GONE: Code(out / "ran")})):
        file = variant(name)
        torch.save(state, file.parent / "pytorch_model.bin")
        file.unlink()
    own = out / "own"
    own.mkdir()
    (own / "configuration_own.py").write_text(OWN_CONFIGURATION)
    (own / "modeling_own.py").write_text(OWN_MODELING)
    (own / "config.json").write_text(OWN_CONFIG)
    save_file(
        {"embed.weight": torch.randn(64, 32), "mix.weight": torch.randn(32, 32) / 6, "mix.bias": torch.zeros(32)},
        own / "model.safetensors",
        metadata={"format": "pt"},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))

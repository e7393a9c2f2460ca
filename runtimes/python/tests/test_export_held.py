"""What a manifest says of inputs that a graph holds, and does not take."""

import dataclasses
import json

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.graphs import held
from assay_runner.engines.graphs.artefact import Exporter
from assay_runner.exporting.graph import Graph, Options
from assay_runner.exporting.notes import Notes
from assay_runner.exporting.store import Store

GRAPH = Graph("model.onnx", 18, [{"name": "input_ids"}], [], "", [], [], {}, {})
GIVEN = {"input_ids": torch.ones(1, 4), "grid": torch.tensor([[1, 2]]), "unused": torch.zeros(1)}


def test_an_exported_mask_is_in_the_manifest(tmp_path):
    recipe = torch_recipes.BERT
    exporter = Exporter(job(recipe, "check"), Emit(), Store(tmp_path), Options(constant_masks=True))
    with exporter.artefact({"batch": 1}) as artefact:
        manifest = json.loads(artefact.entry.path("manifest.json").read_text())
    assert "attention_mask" not in [spec["name"] for spec in manifest["graph"]["inputs"]]
    assert manifest["fixed"] == {"attention_mask": [[1] * manifest["sizes"]["seq"]]}


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        (torch.tensor([[True, False]]), [[True, False]]),
        (torch.tensor(3), 3),
        (torch.ones(64, 64, dtype=torch.int64), [[1] * 64] * 64),
        (torch.ones(64, 65), None),
        (torch.tensor([float("inf")]), None),
    ],
    ids=["booleans", "one number", "as many as there may be", "too many", "not finite"],
)
def test_values_are_lists_that_json_has(value, listed):
    graph = dataclasses.replace(GRAPH, steps=[{"name": "constant inputs", "inputs": ["grid"]}])
    found = held.values(graph, GIVEN | {"grid": value})
    assert found == {"grid": listed}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_what_decided_and_is_not_in_the_graph_is_held():
    """An input that the graph takes may decide too: it is not held."""
    notes = Notes()
    notes.read("model.py:1", frozenset({"input_ids", "grid"}))
    graph = dataclasses.replace(GRAPH, steps=notes.steps())
    assert held.values(graph, GIVEN) == {"grid": [[1, 2]]}

"""The table of known checkpoints: well formed, complete by family, true to the published counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


from assay_runner.catalogue import published
from assay_runner.introspection import classes
from assay_runner.introspection.families import KEY_TYPES
from assay_runner.subjects.programs import building

TREE = Path(__file__).resolve().parents[3]
FIELDS = ["name", "type", "class", "task", "published", "sizes", "config", "source"]
WANTED = 3  # checkpoints of each family beyond the key models
WITHOUT = {
    "other": "not a family: parts of models, and what no rule knows",
    "diffusion": "pipelines of diffusers have a table of their own",
}


@pytest.fixture(scope="module")
def types() -> dict[str, dict]:
    """The catalogue that comes with Assay, by type."""
    rows = json.loads((TREE / "internal/catalog/data/types.json").read_text(encoding="utf-8"))["types"]
    return {row["type"]: row for row in rows}


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    """The parameters of every checkpoint that this release can build, counted without memory."""
    known = set(classes.all_types())
    found = {row["name"]: building.parameter_count(row) for row in published.checkpoints() if row["type"] in known}
    return {name: count for name, count in found.items() if count is not None}


def test_rows_are_well_formed() -> None:
    for row in published.checkpoints():
        assert list(row) == [field for field in FIELDS if field in row], row["name"]
        assert row["config"] and row["name"].count("/") == 1
        assert row["published"] is None or row["published"] > 0
        assert all(size > 0 for size in row.get("sizes", {}).values())


def test_names_are_unique_with_and_without_their_owner() -> None:
    names = [row["name"] for row in published.checkpoints()]
    assert len({name.rpartition("/")[2] for name in names}) == len(names)
    assert all(published.named(name)["name"] == name for name in names)


def test_sources_name_the_checkpoint_in_words() -> None:
    for row in published.checkpoints():
        assert row["name"] in row["source"] and "://" not in row["source"]


def test_classes_are_heads_of_their_types(types: dict[str, dict]) -> None:
    for row in published.checkpoints():
        heads = [(head["task"], head["class"]) for head in types[row["type"]]["heads"]]
        assert (row["task"], row["class"]) in heads, row["name"]


def test_every_family_has_its_checkpoints(types: dict[str, dict]) -> None:
    further = [types[row["type"]]["family"] for row in published.checkpoints() if row["type"] not in KEY_TYPES]
    families = {row["family"] for row in types.values()}
    assert set(WITHOUT) <= families
    assert {name: further.count(name) for name in families - set(WITHOUT) if further.count(name) < WANTED} == {}


def test_key_models_have_one(types: dict[str, dict]) -> None:
    assert set(KEY_TYPES) <= {row["type"] for row in published.checkpoints()}


def test_counts_are_the_published_ones(counts: dict[str, int]) -> None:
    stated = {row["name"]: row["published"] for row in published.checkpoints() if row["published"] is not None}
    compared = stated.keys() & counts.keys()
    assert len(compared) > len(stated) // 2
    assert {name: (stated[name], counts[name]) for name in compared if stated[name] != counts[name]} == {}


def test_documentation_has_the_table(types: dict[str, dict], counts: dict[str, int]) -> None:
    if len(counts) < len(published.checkpoints()):
        pytest.skip("this release lacks some of the types")
    families = {name: row["family"] for name, row in types.items()}
    told = (TREE / "docs/models.md").read_text(encoding="utf-8")
    assert published.table(families, counts) in told, "python -m assay_runner checkpoints prints the new table"

"""Names, platforms and the package itself: the tables that assay shares with the program."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import assay
from assay import catalogue, on_graph, platforms, subjects, tables

HERE = Path(__file__).parents[1]
REPOSITORY = HERE.parents[1]
CASES = json.loads((REPOSITORY / "internal/catalog/testdata/resolve.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_names_mean_what_they_mean_to_the_program(case):
    found = catalogue.resolve(case["name"])
    assert (found.entry["type"], found.checkpoint) == (case["type"], case["checkpoint"])


@pytest.mark.parametrize("name", ["", "../etc/passwd", "/etc/passwd", "a\\b", "a/b/c", "bert\x00", "x" * 300])
def test_what_means_nothing(name):
    with pytest.raises(assay.UnknownModel):
        subjects.find(name)


def test_the_nearest_names():
    with pytest.raises(assay.UnknownModel) as raised:
        catalogue.resolve("brt")
    assert "bert" in raised.value.nearest
    assert len(raised.value.nearest) == 3


def test_every_type_has_a_recipe_or_a_reason():
    rows = tables.catalogue("recipes")["recipes"]
    tiny = {row["type"] for row in rows if row["size"] == "tiny"}
    for name, entry in catalogue.types().items():
        try:
            assert catalogue.recipe(catalogue.Named(entry), "tiny")["type"] == name
        except assay.Unsupported as error:
            assert name not in tiny
            assert f"no recipe for {name}" in str(error)


def test_a_checkpoint_without_its_weights_is_drawn_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    found = subjects.find("bert-base-uncased")
    assert (found.recipe["size"], found.weights, found.folder) == ("full", "random", "")
    assert "assay fetch google-bert/bert-base-uncased" in found.notes[0]
    with pytest.raises(assay.Unavailable, match="assay fetch google-bert/bert-base-uncased"):
        subjects.find("bert-base-uncased", weights="hub")
    assert subjects.find("bert", size="full").recipe["checkpoint"] == "google-bert/bert-base-uncased"
    assert subjects.find("bert-base-uncased", size="tiny").recipe["size"] == "tiny"


def test_fallbacks_are_the_programs():
    assert [str(target) for target in platforms.chain(platforms.parse("cuda:1"))] == ["cuda:1", "openvino", "cpu"]
    assert [str(target) for target in platforms.chain(platforms.parse("QNN"))] == ["qnn", "cpu"]
    for name in platforms.every():
        assert str(platforms.chain(platforms.parse(name))[-1]) == "cpu"
    assert [str(target) for target in platforms.preferred("audio")][:2] == ["cuda", "rocm"]
    assert str(platforms.preferred("no such family")[-1]) == "cpu"


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"ASSAY_HOME": "/a", "XDG_CACHE_HOME": "/b"}, "/a/cache/exports"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/assay/exports"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/assay/exports"),
        ({}, "~/.cache/assay/exports"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="Windows has folders of its own")
def test_exported_models_lie_where_the_program_keeps_them(environ, folder):
    assert on_graph.exports(environ) == Path(folder).expanduser()


def test_an_installed_package_needs_no_repository(tmp_path):
    """Builds the wheel, and loads a model with nothing else of Assay at hand."""
    there = tmp_path / "repository" / "runtimes" / "python"
    for folder in ("assay", "assay_runner"):
        shutil.copytree(HERE / folder, there / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "setup.py"):
        shutil.copy(HERE / file, there)
    shutil.copytree(REPOSITORY / "internal/catalog/data", tmp_path / "repository/internal/catalog/data")
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=there, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
        names = packed.namelist()
    assert "assay/py.typed" in names
    assert not [name for name in names if name.startswith("tests/")]
    program = "import assay; print(assay.__file__); print(assay.load('bert', 'cpu').run('text')[0]['position'])"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(tmp_path / "site/assay/__init__.py"), "0"]

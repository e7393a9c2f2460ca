"""The store: entries are there whole or not at all, whoever asks and whatever breaks."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from assay_runner.exporting import store
from assay_runner.exporting.store import MANIFEST, Store, key_of

PACKAGE = Path(store.__file__).parents[1]
KEY = key_of({"model": "x"})


def fill(folder: Path) -> dict[str, str]:
    (folder / "graph").write_text("abc")
    (folder / "deep").mkdir()
    (folder / "deep" / "weights").write_text("defg")
    return {"type": "x"}


def refuse(folder: Path) -> dict[str, str]:
    raise AssertionError("it was there already")


def test_an_entry_is_made_once(tmp_path):
    store = Store(tmp_path)
    with store.entry("onnx", KEY, fill) as made:
        assert made.made
        assert made.path("graph").read_text() == "abc"
        assert made.manifest["files"] == {"deep/weights": 4, "graph": 3}
    with store.entry("onnx", KEY, refuse) as found:
        assert not found.made
        assert found.manifest["type"] == "x"
        assert found.manifest["kind"] == "onnx"


def test_keys_tell_what_decides_apart():
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert len(KEY) == 32


@pytest.mark.parametrize("harm", ["cut", "lost", "no manifest", "another schema", "garbage"])
def test_what_is_not_whole_is_made_again(tmp_path, harm):
    store = Store(tmp_path)
    with store.entry("onnx", KEY, fill) as entry:
        folder = entry.folder
    manifest = folder / MANIFEST
    {
        "cut": lambda: (folder / "graph").write_text("a"),
        "lost": lambda: (folder / "graph").unlink(),
        "no manifest": manifest.unlink,
        "another schema": lambda: manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema": 0})),
        "garbage": lambda: manifest.write_text("[1"),
    }[harm]()
    with store.entry("onnx", KEY, fill) as entry:
        assert entry.made
        assert (entry.folder / "graph").read_text() == "abc"


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    store = Store(tmp_path)

    def full(folder: Path) -> dict[str, str]:
        (folder / "half").write_text("a")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left"), store.entry("onnx", KEY, full):
        pass
    assert [p.name for p in tmp_path.iterdir() if p.name != "locks"] == [KEY[:2]]
    assert not list((tmp_path / KEY[:2]).iterdir())
    with store.entry("onnx", KEY, fill) as entry:
        assert entry.made


def _make_slowly(root: str, counter: str) -> None:
    def slow(folder: Path) -> dict[str, str]:
        with Path(counter).open("a") as file:
            file.write("x")
        return fill(folder)

    with Store(Path(root)).entry("onnx", KEY, slow) as entry:
        assert entry.path("graph").read_text() == "abc"


def test_several_processes_make_it_once(tmp_path):
    context = multiprocessing.get_context("fork")
    counter = tmp_path / "made"
    workers = [context.Process(target=_make_slowly, args=(str(tmp_path / "store"), str(counter))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    assert counter.read_text() == "x"


def test_a_failure_of_one_key_is_none_of_another(tmp_path):
    store, other = Store(tmp_path), key_of({"model": "y"})
    with store.entry("onnx", KEY, fill), store.entry("onnx", other, fill) as second:
        assert second.made


@pytest.mark.parametrize(
    "module",
    ["checking/reference.py", "checking/control.py", "subjects/outputs.py", "subjects/experts.py",
     "subjects/programs/table.py", "exporting/trying.py", "engines/openvino/backend.py",
     "engines/graphs/artefact.py", "data/special.json"],
)  # fmt: skip
def test_a_key_has_all_the_code_that_makes_entries(tmp_path, module):
    """What an entry holds was made by more than the exporter."""
    copied = shutil.copytree(PACKAGE, tmp_path / "assay_runner", ignore=shutil.ignore_patterns("__pycache__"))
    before = store.code.__wrapped__(copied)
    assert before == store.code.__wrapped__(PACKAGE), "where the package lies does not count"
    with (copied / module).open("a") as file:
        file.write("\n")
    assert store.code.__wrapped__(copied) != before


def test_every_key_has_the_code(monkeypatch):
    monkeypatch.setattr(store, "code", lambda: "another")
    assert key_of({"model": "x"}) != KEY

"""Kept outputs, compared pair by pair and batch by single input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from assay_runner.checking import consistency
from assay_runner.subjects import outputs


class Emit:
    """Keeps the answer."""

    said: dict[str, Any]

    def data(self, data: dict[str, Any]) -> None:
        self.said = data


def kept(folder: Path, name: str, tensors: dict[str, torch.Tensor]) -> str:
    file = str(folder / f"{name}.npz")
    outputs.keep({"options": {"keep": [None, file]}}, 1, tensors)
    return file


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    given = {"a.0": torch.ones(2, 3), "ids": torch.tensor([1, 2]), "half": torch.ones(2, dtype=torch.bfloat16)}
    found = outputs.kept(kept(tmp_path, "x", given))
    assert found["half"].dtype is torch.float32
    assert all(torch.equal(found[name].float(), t.float()) for name, t in given.items())


def test_nothing_is_kept_where_no_file_is_named(tmp_path: Path) -> None:
    outputs.keep({"options": {"keep": [None]}}, 0, {"a": torch.ones(1)})
    outputs.keep({}, 0, {"a": torch.ones(1)})
    assert not list(tmp_path.iterdir())


def test_every_pair_and_every_batch(tmp_path: Path) -> None:
    one, two, three = (
        kept(tmp_path, n, {"y": torch.tensor([[1.0, v]])}) for n, v in (("a", 2.0), ("b", 2.5), ("c", 2.0))
    )
    many = kept(tmp_path, "d", {"y": torch.tensor([[1.0, 2.2], [9.0, 9.0]])})
    emit = Emit()
    consistency.answer({"options": {"files": [one, two, three], "batches": [[one, many]]}}, emit)
    assert [(p["a"], p["b"]) for p in emit.said["pairs"]] == [(one, two), (one, three), (two, three)]
    assert [p["max_rel"] for p in emit.said["pairs"]] == pytest.approx([0.2, 0.0, 0.2])
    assert emit.said["batches"][0]["max_rel"] == pytest.approx(0.2 / 2.2)


def test_the_measure_is_symmetric() -> None:
    a, b = {"y": torch.tensor([1.0, 4.0])}, {"y": torch.tensor([1.0, 5.0])}
    assert consistency.difference(a, b)["max_rel"] == consistency.difference(b, a)["max_rel"] == pytest.approx(0.2)


def test_other_shapes_are_not_compared() -> None:
    found = consistency.difference({"y": torch.ones(2)}, {"y": torch.ones(3), "z": torch.ones(2)})
    assert found["max_rel"] is None
    assert "same shape" in found["note"]
    assert consistency.first_row({"y": torch.ones(2, 3)}, {"y": torch.ones(1, 4)}) == {}

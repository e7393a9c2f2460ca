"""Tiny models converted to Core ML, through the engine, and what it names when it cannot."""

import sys

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.contract import Asked, Exported
from assay_runner.engines.coreml.backend import CoreML
from assay_runner.engines.graphs import driver
from assay_runner.errors import AbsentDevice, LibraryAbsent, UnsupportedDType, UnsupportedOperators
from assay_runner.exporting.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="coremltools is not for Windows")


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(torch_recipes.BERT, marks=pytest.mark.full), torch_recipes.LLAMA],  # integration tests convert BERT
    ids=lambda r: r["type"],
)
def test_a_model_is_converted(exports, recipe):
    emit = Emit()
    cell = {"platform": "mps", "engine": "coreml", "dtype": "fp16"}
    driver.run(job(recipe, **cell) | {"options": {"exports": exports}}, emit)
    report = emit.reports[0]
    assert report["placement"]["left_over"] == []
    assert report["placement"]["nodes"]
    assert report["export"]["via"] == "torch"
    assert report["export"]["check"]["pass"]
    if sys.platform == "darwin":
        assert report["numerics"]["pass"], report["numerics"]
        return
    assert report["evidence"] == "compiled"
    assert report["numerics"] is None
    assert [o["name"] for o in report["outputs"]] == ["logits"]


def program(folder, module, *tensors):
    """A module as a backend gets it."""
    torch.export.save(torch.export.export(module.eval(), tensors), folder / "model.pt2")
    outputs = [{"name": "y", "shape": None, "dtype": "float32"}]
    return Exported(f"key-{folder.name}", folder / "model.pt2", [], outputs, lambda n: [])


class Written(torch.nn.Module):
    """What coremltools knows only after it was taken apart."""

    def forward(self, x, y):
        mask = (x > 0) & (y > 0)
        scattered = x.masked_scatter(mask, y)
        return torch.where(mask, scattered, -1.0).detach()


def test_what_it_does_not_know_is_taken_apart(tmp_path):
    from assay_runner.engines.coreml.converting import friendly, unknown

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    exported = program(tmp_path, Written(), x, y)
    before = torch.export.load(exported.graph)
    after = friendly(before)
    assert unknown(after) == {}
    torch.testing.assert_close(after.module()(x, y), before.module()(x, y))


class Strange(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.det(x), torch.linalg.eigvals(x).real + torch.special.i1(x[..., 0])


def test_all_operators_that_it_lacks_are_named(tmp_path):
    exported = program(tmp_path, Strange(), torch.eye(3).expand(2, 3, 3).contiguous())
    backend = CoreML(Asked("mps", "", "fp16", 1), Store(tmp_path / "store"))
    with pytest.raises(UnsupportedOperators) as raised:
        backend.prepare(exported)
    assert "linalg_eig" in str(raised.value)
    assert "i1" in str(raised.value)


class Doubled(torch.nn.Module):
    def forward(self, x):
        return x + x


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_a_package_is_kept(tmp_path, dtype):
    exported = program(tmp_path, Doubled(), torch.ones(2, 3))
    found = []
    for _ in range(2):
        backend = CoreML(Asked("mps", "ane", dtype, 1), Store(tmp_path / "store"))
        found.append(backend.compile(backend.prepare(exported)).facts()["package_found"])
    assert found == [False, True]


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS runs it")
def test_nothing_runs_elsewhere(tmp_path):
    backend = CoreML(Asked("mps", "", "fp32", 1), Store(tmp_path / "store"))
    ready = backend.compile(backend.prepare(program(tmp_path, Doubled(), torch.ones(2, 3))))
    with pytest.raises(AbsentDevice, match="macOS only"):
        ready.run()


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        (Asked("mps", "", "bf16", 1), UnsupportedDType, "bf16"),
        (Asked("mps", "npu", "fp16", 1), AbsentDevice, "ane, cpu, gpu"),
    ],
)
def test_what_it_has_not(tmp_path, asked, error, says):
    with pytest.raises(error, match=says):
        CoreML(asked, Store(tmp_path))


def test_a_missing_package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "coremltools", None)
    with pytest.raises(LibraryAbsent, match="pip install coremltools"):
        CoreML(Asked("mps", "", "fp16", 1), Store(tmp_path))

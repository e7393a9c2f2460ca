"""Which attempt counts, with an engine whose answers are given."""

from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from assay_runner.engines.backends import backend
from assay_runner.engines.formats import ONNX, Attempt, Form
from assay_runner.engines.graphs.choosing import Chooser
from assay_runner.errors import ExportFailed, RefusedGraph
from assay_runner.exporting.store import Store

DIRECT = Form("direct", "torch", "nobody.writes")
TRIED = (Attempt(ONNX), Attempt(ONNX, {"FUSE": "NO"}), Attempt(DIRECT))


@dataclass(frozen=True)
class Compiled:
    label: str
    evidence: str = ""


class Forms:
    """Gives every form but those that cannot be written."""

    def __init__(self, unwritten=()):
        self.unwritten = unwritten

    @contextmanager
    def artefact(self, point, form):
        if form in self.unwritten:
            raise ExportFailed("no exporter")
        yield {"key": form.kind}


def chooser(tmp_path, errors, unwritten=(), evidence=""):
    """Errors are by label: a number for wrong numbers (0 for right ones), an exception for a refusal."""
    compiled = []

    def compile_(artefact, point, attempt):
        if isinstance(errors[attempt.label()], Exception):
            raise errors[attempt.label()]
        compiled.append(attempt.label())
        return Compiled(attempt.label(), evidence)

    found = Chooser(
        TRIED, Forms(unwritten), Store(tmp_path), compile_, lambda running: errors[running.compiled.label], {"dtype": 1}
    )
    return found, compiled


@pytest.mark.parametrize(
    ("errors", "chosen", "earlier"),
    [
        ((0, 0, 0), "onnx", []),
        ((0.5, 0, 0), "onnx, FUSE=NO", ["onnx"]),
        ((None, 0, 0), "onnx, FUSE=NO", ["onnx"]),
        ((RefusedGraph("no"), 0.5, 0), "torch", ["onnx", "onnx, FUSE=NO"]),
        ((0.5, 0.25, RefusedGraph("no")), "onnx", ["onnx, FUSE=NO", "torch"]),
        ((RefusedGraph("no"), 0.25, 0.5), "onnx, FUSE=NO", ["onnx", "torch"]),
    ],
)
def test_the_first_with_the_right_numbers_else_the_first_that_ran(tmp_path, errors, chosen, earlier):
    by_label = dict(zip((attempt.label() for attempt in TRIED), errors, strict=True))
    for _ in range(2):  # what the first call found out, the second one knows
        found, compiled = chooser(tmp_path, by_label)
        with found.chosen({}, lambda artefact, compiled: 1.0) as running:
            assert running.compiled.label == running.attempt.label() == chosen
            assert [row["way"] for row in running.report()] == earlier
            wrong = [row["way"] for row in running.report() if row["error"].startswith("its numbers are wrong")]
            assert wrong == [way for way in earlier if not isinstance(by_label[way], Exception)]
    assert compiled == [chosen]


def test_what_cannot_be_written_is_passed_over(tmp_path):
    found, _ = chooser(tmp_path, {"torch": 0}, unwritten=(ONNX,))
    with found.chosen({}, lambda artefact, compiled: 1.0) as running:
        assert running.compiled.label == "torch"


def test_where_nothing_ran_the_first_reason_is_raised(tmp_path):
    found, _ = chooser(tmp_path, {label: RefusedGraph(label) for label in ("onnx", "onnx, FUSE=NO", "torch")})
    with pytest.raises(RefusedGraph, match=r"^onnx$"), found.chosen({}, lambda artefact, compiled: 1.0):
        pass


def test_what_is_only_compiled_is_not_started(tmp_path):
    found, _ = chooser(tmp_path, {"onnx": 0}, evidence="compiled")
    with found.chosen({}, lambda artefact, compiled: pytest.fail("started")) as running:
        assert running.run_ms is None


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ({"engine": "onnxruntime"}, ["onnx"]),
        ({"engine": "openvino"}, ["onnx", "onnx, SNIPPETS_MODE=DISABLE", "torch"]),
        ({"engine": "onnxruntime", "mode": "generate"}, []),
        ({"engine": "openvino", "via": "onnx"}, ["onnx", "onnx, SNIPPETS_MODE=DISABLE"]),
        ({"engine": "openvino", "via": "torch"}, ["torch"]),
        ({"engine": "openvino", "via": "torch", "dtype": "w8"}, ["torch", "torch, SNIPPETS_MODE=DISABLE"]),
        ({"engine": "openvino", "mode": "generate"}, ["torch"]),
        ({"engine": "openvino", "mode": "dream"}, []),
        ({"engine": "coreml"}, ["torch"]),
        ({"engine": "coreml", "mode": "generate"}, []),
        ({"engine": "qnn"}, ["onnx", "onnx, numbers=careful"]),
        ({"engine": "qnn", "mode": "generate"}, ["onnx", "onnx, numbers=careful"]),
        ({"engine": "ort-web"}, ["onnx", "onnx, WIDE_INTEGERS=1"]),
        ({"engine": "ort-web", "mode": "dream"}, []),
        ({"engine": "wasm"}, ["onnx"]),
        ({"engine": "wasm", "mode": "generate"}, ["onnx", "onnx, WIDE_INTEGERS=1"]),
        ({"engine": "wasm", "via": "transformers.js"}, ["transformers.js, THROUGH=transformers.js"]),
    ],
)
def test_attempts_of_a_cell(cell, labels):
    assert [attempt.label() for attempt in backend(cell["engine"]).attempts(cell)] == labels

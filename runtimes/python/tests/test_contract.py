"""The contract of a backend holds all that is asked of it, and one table says which engines there are."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
import torch_recipes
from torch_emit import Emit, job

from assay_runner import jobs
from assay_runner.engines import backends, contract, preimporting
from assay_runner.engines.backends import BACKENDS
from assay_runner.engines.graphs import checks, driver, engine_control, timings

METHODS = {
    "bind": lambda self, feeds: None,
    "run": lambda self: None,
    "outputs": lambda self: {"y": np.zeros(1, np.float32)},
    "placement": lambda self: contract.Placement("cpu"),
    "facts": lambda self: {},
}
"""What an engine must have."""


def test_what_an_engine_has_not_is_answered():
    plain = type("Plain", (contract.Compiled,), METHODS)()
    assert (plain.evidence, plain.items, plain.clock, plain.new_tokens, plain.any_prompt) == ("", 1, None, None, False)
    assert (plain.phases(), plain.memory(), plain.device_ms()) == ({}, None, None)
    assert (plain.generation(), plain.around({})) == (None, None)


@pytest.mark.parametrize("lacking", METHODS)
def test_what_every_engine_must_have_is_asked_for(lacking):
    given = {name: method for name, method in METHODS.items() if name != lacking}
    with pytest.raises(TypeError, match=lacking):
        type("Lacking", (contract.Compiled,), given)()


@pytest.mark.parametrize("engine", BACKENDS)
def test_every_backend_keeps_the_contract(engine):
    cls = backends.backend(engine)
    assert issubclass(cls, contract.Backend)
    assert not cls.__abstractmethods__


def test_nothing_is_asked_of_an_engine_that_the_contract_does_not_hold():
    """Whatever the driver reads of what is compiled: no guessing whether an engine has it."""
    asked, guessed = set(), []
    texts = (Path(module.__file__).read_text(encoding="utf-8") for module in (checks, engine_control, driver, timings))
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "compiled":
            asked.add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr"):
            guessed.append(node.lineno)
    assert {"run", "clock", "memory", "around"} <= asked <= {*dir(contract.Compiled), "key"}
    assert guessed == []


def test_a_backend_is_given_the_cell(tmp_path, monkeypatch):
    """A setting that only one engine has needs nothing but the engine."""

    class Given(Exception):
        pass

    class Curious(contract.Backend):
        prepare = compile = None

        def __init__(self, asked, store):
            raise Given(asked.cell["own_setting"])

    monkeypatch.setattr(driver, "backend", lambda engine: Curious)
    asked = job(torch_recipes.BERT, platform="cpu", engine="onnxruntime", own_setting="b")
    with pytest.raises(Given, match="b"):
        driver.run(asked | {"options": {"exports": str(tmp_path)}}, Emit())


def test_a_child_accepts_the_engines_of_the_table():
    assert set(jobs.ENGINES) == {"noop", "torch", *BACKENDS}
    for engine in BACKENDS:
        assert jobs.function_for({"kind": "check", "cell": {"engine": engine}}) == "engines.graphs.driver.run"
    with pytest.raises(ValueError, match="this runner has no engine 'tvm': it has noop, torch, onnxruntime, openvino"):
        jobs.function_for({"kind": "check", "cell": {"engine": "tvm"}})


@pytest.mark.parametrize(("engine", "exporters"), [("noop", False), ("torch", False), *((e, True) for e in BACKENDS)])
def test_exporters_are_imported_for_engines_that_run_graphs(monkeypatch, engine, exporters):
    called = []
    monkeypatch.setattr(preimporting, "_exporters", lambda: called.append("exporters"))
    monkeypatch.setattr(preimporting, "preload", lambda job: called.append("model"))
    preimporting.before_fork({"kind": "check", "cell": {"engine": engine}})
    assert called == (["exporters"] if exporters else ["model"])

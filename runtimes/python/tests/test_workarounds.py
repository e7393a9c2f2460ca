"""Workarounds expire: each names a fault of a library, and a reproducer that fails once the fault is gone.

Plain tests read the sources: every fault has a reproducer and is known in the version that is locked. The reproducers
themselves take minutes, and run by `make test-full`, with other releases of transformers too (`scripts/releases`).
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest
from reproducers import _scripts

import assay_runner
from assay_runner.workarounds import Fault

PACKAGE = Path(assay_runner.__file__).parent
REPRODUCERS = Path(__file__).parent / "reproducers"
SCRIPTS = _scripts.FOLDER.name
RUNTIMES = Path(__file__).parents[2]

UNLOCKED = {"pyarrow": "no model needs it, and only a Python of the user's own has it"}
"""Libraries with faults of which no version is locked."""


@dataclass(frozen=True)
class Declared:
    """A fault, and where it is worked around."""

    fault: Fault
    place: str

    def __str__(self) -> str:
        return f"{self.fault.library}-{self.fault.name}"


def declared(package: Path) -> list[Declared]:
    """The faults that the sources of a package name."""
    found = []
    for file in sorted(package.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        known = dict(constants(tree))
        for node in sorted(filter(is_fault, ast.walk(tree)), key=lambda node: node.lineno):
            values = (known[arg.id] if isinstance(arg, ast.Name) else ast.literal_eval(arg) for arg in node.args)
            found.append(Declared(Fault(*values), f"{file.relative_to(package)}:{node.lineno}"))
    return found


def is_fault(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == Fault.__name__


def constants(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The names that a module gives to literals."""
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        [target] = node.targets
        several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        pairs = zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]
        for name, value in pairs:
            with suppress(ValueError):
                yield ast.unparse(name), ast.literal_eval(value)


def reproducers(folder: Path) -> dict[str, str]:
    """Name of a reproducer → its module: every function of the folder that is not a module's own; and all scripts."""
    functions = {
        node.name: file.stem
        for file in sorted(folder.glob("of_*.py"))
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    scripts = dict.fromkeys(_scripts.names(folder / SCRIPTS), SCRIPTS)
    assert not functions.keys() & scripts.keys(), f"{functions.keys() & scripts.keys()} are both functions and scripts"
    return functions | scripts


def locked(runtimes: Path) -> dict[str, str]:
    """The library's name → the version that the locks of both environments have."""
    python = (runtimes / "python" / "requirements.lock").read_text(encoding="utf-8")
    found = dict(re.findall(r"^([\w.-]+)==([\w.]+)", python, re.MULTILINE))
    for path, package in json.loads((runtimes / "web" / "package-lock.json").read_bytes())["packages"].items():
        head, _, name = path.partition("node_modules/")
        if not head and "node_modules/" not in name and "version" in package:
            found[name] = package["version"]
    return found


def problems(faults: list[Declared], known: dict[str, str], locks: dict[str, str]) -> list[str]:
    """What keeps a workaround from expiring."""
    names = Counter(row.fault.name for row in faults)
    said = [f"two faults are called {name}" for name, n in names.items() if n > 1]
    # A script may show what nothing can be done about: docs/findings.md says so (test_findings.py).
    said += [
        f"{name} reproduces no fault ({of}.py)" for name, of in known.items() if of != SCRIPTS and name not in names
    ]
    for fault, place in ((row.fault, row.place) for row in faults):
        version = locks.get(fault.library)
        if fault.name not in known:
            said.append(f"{fault.name} has no reproducer ({place})")
        if version is None and fault.library not in UNLOCKED:
            said.append(f"{fault.library} is in no lock ({place})")
        if version is not None and version not in fault.seen_in:
            said.append(
                f"{fault.name} was not looked for in {fault.library} {version}: run the reproducers, then add the "
                f"version or remove the workaround ({place})"
            )
    return said


def verdict(row: Declared, version: str, there: bool) -> str:
    """What to do after a reproducer ran; empty where that is nothing."""
    fault, known = row.fault, version in row.fault.seen_in
    if there and not known:
        return f"{fault.name} is in {fault.library} {version} as well: add the version ({row.place})"
    if known and not there and not fault.only_on:
        return f"{fault.name} is fixed in {fault.library} {version}: remove its workaround ({row.place})"
    return ""


def installed(library: str) -> str:
    """The version that is here, without what says for which processor it was built; a page's is the locked one."""
    try:
        return metadata.version(library).partition("+")[0]
    except metadata.PackageNotFoundError:
        return locked(RUNTIMES).get(library, "")


def reproducer(name: str) -> Callable[[], bool]:
    module = reproducers(REPRODUCERS)[name]
    return partial(_scripts.shown, name) if module == SCRIPTS else getattr(import_module(f"reproducers.{module}"), name)


def test_every_workaround_expires():
    assert problems(declared(PACKAGE), reproducers(REPRODUCERS), locked(RUNTIMES)) == []


@pytest.mark.full
@pytest.mark.parametrize("row", declared(PACKAGE), ids=str)
def test_the_fault_is_still_there(row):
    there = reproducer(row.fault.name)()
    assert verdict(row, installed(row.fault.library), there) == ""


SOURCE = """
_LIBRARY, _SEEN = "lib", ("1.0", "1.1")
STEPS = (Step("a", Fault("one", _LIBRARY, _SEEN, "it is wrong"), f),)
OTHER = Fault("two", "lib", ("1.1",), "it is worse")
"""


@pytest.mark.parametrize(
    ("reproduced", "locks", "says"),
    [
        (["one", "two"], {"lib": "1.1"}, []),
        (["one"], {"lib": "1.1"}, ["two has no reproducer (a/one.py:4)"]),
        (["one", "two", "three"], {"lib": "1.1"}, ["three reproduces no fault (of_lib.py)"]),
        (
            ["one", "two"],
            {"lib": "1.0"},
            [
                "two was not looked for in lib 1.0: run the reproducers, then add the version or remove the workaround "
                "(a/one.py:4)"
            ],
        ),
        (["one", "two"], {}, ["lib is in no lock (a/one.py:3)", "lib is in no lock (a/one.py:4)"]),
    ],
)
def test_what_keeps_a_workaround_alive_is_found(tmp_path, reproduced, locks, says):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text(SOURCE)
    (tmp_path / "of_lib.py").write_text("\n".join(f"def {name}(): pass" for name in [*reproduced, "_helper"]))
    assert problems(declared(tmp_path), reproducers(tmp_path), locks) == says


def test_a_name_is_of_one_fault(tmp_path):
    (tmp_path / "one.py").write_text(SOURCE.replace('"two"', '"one"'))
    assert problems(declared(tmp_path), {"one": "of_lib"}, {"lib": "1.1"}) == ["two faults are called one"]


@pytest.mark.parametrize(
    ("version", "there", "says"),
    [
        ("1.0", True, ""),
        ("1.0", False, "one is fixed in lib 1.0: remove its workaround (a.py:1)"),
        ("2.0", True, "one is in lib 2.0 as well: add the version (a.py:1)"),
        ("2.0", False, ""),
    ],
)
def test_what_to_do_about_a_fault(version, there, says):
    assert verdict(Declared(Fault("one", "lib", ("1.0",), "it is wrong"), "a.py:1"), version, there) == says


def test_what_only_some_processors_show_is_not_fixed_where_it_does_not_show():
    row = Declared(Fault("one", "lib", ("1.0",), "it is wrong", "seen on one processor"), "a.py:1")
    assert verdict(row, "1.0", False) == "" and verdict(row, "2.0", True) != ""

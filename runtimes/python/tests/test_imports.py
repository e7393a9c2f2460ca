"""Folders import only what docs/architecture.md lets them: the runner's own table, held as internal/arch holds Go's.

Imports count wherever they stand, at a module's top or inside a function. Some modules are found by name at run time,
so that nothing is imported before it is needed; the table says which folders do that, and with whose modules.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import assay_runner

PACKAGE = Path(assay_runner.__file__).parent
ROOT = "(root)"
HEAD = "| folder | may import | finds by name |"
DOTTED = re.compile(r"[\w.]+\.\w+")
EVERYBODYS = ("errors", "workarounds", "PROTOCOL")  # of the root: names of failures and faults, the protocol's version
SHARED_NAMES = re.compile(r"engines/\w+/")  # modules of one role are called alike in the folders of engines

Edges = dict[tuple[str, str], set[str]]
"""Importing and imported folder → the modules that import."""


def modules(package: Path) -> dict[str, str]:
    """Dotted name below the package → its folder."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package).with_suffix("").parts
        dotted = parts[:-1] if parts[-1] == "__init__" else parts
        found[".".join(dotted)] = "/".join(parts[:-1]) or ROOT
    return found


def imported(file: Path, package: Path) -> Iterator[str]:
    """The dotted names below the package that a file imports, those of functions and classes too."""
    here = file.relative_to(package).parent.parts
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            bases = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([package.name, *here[: len(here) - node.level + 1], *filter(None, [node.module])])
            bases = [(base, alias.name) for alias in node.names]
        else:
            continue
        for base, name in bases:
            if base.partition(".")[0] == package.name:
                yield ".".join(filter(None, [base.partition(".")[2], name]))


def named(file: Path, known: dict[str, str]) -> Iterator[str]:
    """The modules that a file names in texts: `engines.web.backend.Web`, `assay_runner.jobs`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            dotted = node.value.removeprefix("assay_runner.")
            for name in (dotted, dotted.rpartition(".")[0]):
                if name in known and (known[name] != ROOT or node.value != dotted):
                    yield name
                    break


def edges(package: Path) -> tuple[Edges, Edges]:
    """Which folders import which, and which find modules of which by name."""
    known, imports, by_name = modules(package), defaultdict(set), defaultdict(set)
    for file in package.rglob("*.py"):
        folder = "/".join(file.relative_to(package).parent.parts) or ROOT
        for dotted in imported(file, package):
            if dotted.partition(".")[0] not in EVERYBODYS:
                target = dotted if dotted in known else dotted.rpartition(".")[0]
                imports[folder, known[target]].add(file.name)
        for dotted in named(file, known):
            by_name[folder, known[dotted]].add(file.name)
    return (
        {edge: files for edge, files in imports.items() if edge[0] != edge[1]},
        {edge: files for edge, files in by_name.items() if edge[0] != edge[1]},
    )


def table(text: str) -> dict[str, tuple[set[str], set[str]]]:
    """Folder → those it may import, and those it may find modules of by name."""
    rows = text.partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {row[0]: (set(filter(None, row[1].split(", "))), set(filter(None, row[2].split(", ")))) for row in cells}


def problems(package: Path, allowed: dict[str, tuple[set[str], set[str]]]) -> list[str]:
    """What the sources do that the table does not say, and what the table says that they do not."""
    folders = set(modules(package).values())
    said = [f"{folder} has no row" for folder in sorted(folders - set(allowed))]
    said += [f"there is no folder {folder}" for folder in sorted(set(allowed) - folders)]
    for column, found in enumerate(edges(package)):
        verb = ("imports", "names modules of")[column]
        for (folder, target), files in sorted(found.items()):
            if folder in allowed and not {target, "any"} & allowed[folder][column]:
                said.append(f"{folder} {verb} {target} ({', '.join(sorted(files))})")
        for folder in sorted(folders & set(allowed)):
            unused = {one for one in allowed[folder][column] - {"any"} if (folder, one) not in found}
            said += [f"{folder} no longer {verb} {one}" for one in sorted(unused)]
    return said


def documented() -> dict[str, tuple[set[str], set[str]]]:
    file = Path(__file__).parents[3] / "docs" / "architecture.md"
    return table(file.read_text(encoding="utf-8"))


def test_folders_import_what_they_may():
    assert problems(PACKAGE, documented()) == []


def test_no_folders_import_each_other():
    graph = defaultdict(set)
    for folder, target in edges(PACKAGE)[0]:
        graph[folder].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle: {' ← '.join(error.args[1])}")


def test_no_two_modules_have_one_name():
    """But in the folders of engines, where one name is one role."""
    names = defaultdict(set)
    for dotted, folder in modules(PACKAGE).items():
        if dotted:
            names[dotted.rpartition(".")[2]].add(folder)
    shared = {name: folders for name, folders in names.items() if len(folders) > 1}
    assert {name: folders for name, folders in shared.items() if not all(map(_of_engine, folders))} == {}


def _of_engine(folder: str) -> bool:
    return SHARED_NAMES.match(f"{folder}/") is not None


def test_the_root_is_the_entry():
    files = {file.name for file in PACKAGE.glob("*.py")}
    assert files == {"__init__.py", "__main__.py", "errors.py", "jobs.py", "workarounds.py"}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("from assay_runner.b import other", "a imports b (one.py)"),
        ("def f():\n    from ..b.other import thing", "a imports b (one.py)"),
        ("def f():\n    import assay_runner.b.other", "a imports b (one.py)"),
        ("from assay_runner import b", "a imports b (one.py)"),
        ("TABLE = {'x': 'b.other.thing'}", "a names modules of b (one.py)"),
        ("TABLE = {'x': 'assay_runner.b.other'}", "a names modules of b (one.py)"),
        ("from . import two\nfrom assay_runner.errors import X\nimport torch\nTEXT = 'no b here'", ""),
    ],
)
def test_what_is_not_allowed_is_found(tmp_path, source, says):
    package = tmp_path / "assay_runner"
    for name in ("a/one.py", "a/two.py", "b/__init__.py", "b/other.py", "errors.py"):
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (package / "a/one.py").write_text(source)
    allowed = {ROOT: (set(), set()), "a": (set(), set()), "b": (set(), set())}
    assert problems(package, allowed) == ([says] if says else [])
    assert "there is no folder c" in problems(package, allowed | {"c": (set(), set())})
    assert "b has no row" in problems(package, {ROOT: (set(), set()), "a": ({"b"}, {"b"})})

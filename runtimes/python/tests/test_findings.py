"""docs/findings.md and the scripts that show its faults say the same.

Plain tests compare the page with the scripts, the declared faults and the locks. What is worked around is run by
`test_workarounds.py`; the scripts of what is only reported are run here (`make test-full`).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from reproducers import _scripts
from test_workarounds import PACKAGE, RUNTIMES, Declared, declared, locked

from assay_runner.workarounds import Fault

PAGE = RUNTIMES.parent / "docs" / "findings.md"
LINES = 20
NO_THREAD = "no public thread found"
_SECTION = re.compile(r"^### (\S+)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
_BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^]]+\]\(https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+\)")


@dataclass(frozen=True)
class Page:
    """What the page says: the cells of its two tables by id, and the blocks of its sections by id and kind."""

    shown: dict[str, list[str]]
    others: dict[str, list[str]]
    sections: dict[str, dict[str, str]]


def read(text: str) -> Page:
    tables = re.findall(r"^\| id \|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    shown, others = ({_id(cells[0]): cells[1:] for cells in map(_cells, table.splitlines())} for table in tables)
    return Page(shown, others, {name: dict(_BLOCKS.findall(body)) for name, body in _SECTION.findall(text)})


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def _id(cell: str) -> str:
    """The id of a row; one that is linked has a section."""
    linked = re.fullmatch(r"\[(\w+)\]\(#\1\)", cell)
    return linked[1] if linked else cell


def problems(page: Page, scripts: dict[str, str], faults: list[Declared], locks: dict[str, str]) -> list[str]:
    """Where the page is not what the scripts and the sources are."""
    known = {row.fault.name: row for row in faults}
    said = _unlike("the first table", page.shown, scripts) + _unlike("the sections", page.sections, scripts)
    said += _unlike("the second table", page.others, known.keys() - scripts.keys())
    for name in page.sections.keys() & scripts.keys():
        blocks = page.sections[name]
        if blocks.get("python") != scripts[name]:
            said.append(f"{name}: the page's script is not the file")
        if blocks.get("text", "").strip().rpartition("\n")[2] != "shows":
            said.append(f"{name}: the page's output does not end with 'shows'")
    for name, cells in (page.shown | page.others).items():
        said += [f"{name}: {why}" for why in _wrong_cells(cells, known.get(name), locks)]
    threads = {name: cells[-1] for name, cells in page.shown.items()}
    said += [f"{name}: no thread" for name, cell in threads.items() if NO_THREAD not in cell and not _LINK.search(cell)]
    return sorted(said)


def _unlike(where: str, found: object, expected: object) -> list[str]:
    found, expected = set(found), set(expected)
    return [f"{name} is not in {where}" for name in expected - found] + [
        f"{name} of {where} is unknown" for name in found - expected
    ]


def _wrong_cells(cells: list[str], row: Declared | None, locks: dict[str, str]) -> list[str]:
    library, _, versions = cells[0].partition(" ")
    seen = tuple(versions.split(", "))
    if row is None:
        return [] if locks.get(library) in seen else [f"was not looked for in {library} {locks.get(library)}"]
    said = []
    if (library, seen) != (row.fault.library, row.fault.seen_in):
        said.append(f"was seen in {row.fault.library} {', '.join(row.fault.seen_in)}, not {cells[0]}")
    if not any(f"`{row.place.partition(':')[0]}`" in cell for cell in cells):
        said.append(f"is worked around in {row.place}")
    wrong = row.fault.wrong + (f" ({row.fault.only_on})" if row.fault.only_on else "")
    if len(cells) == len(("versions", "wrong", "place")) and cells[1] != wrong:
        said.append(f"says {cells[1]!r} for {wrong!r}")
    return said


def scripts() -> dict[str, str]:
    return {name: (_scripts.FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in _scripts.names()}


def test_the_page_is_what_the_scripts_are():
    text = PAGE.read_text(encoding="utf-8")
    page = read(text)
    assert problems(page, scripts(), declared(PACKAGE), locked(RUNTIMES)) == []
    assert f"{len(page.shown)} with a script" in text
    assert f"{len(page.others)} more in a second table" in text


@pytest.mark.parametrize("name", _scripts.names())
def test_a_script_is_short_and_needs_nothing_of_assay(name):
    source = scripts()[name]
    tree = ast.parse(source)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {path.stem for path in Path(__file__).parent.iterdir()} | {"assay", "assay_runner"}
    assert source.count("\n") <= LINES
    assert not {module.partition(".")[0] for module in imported} & own
    assert all(word in source for word in _scripts.SAID)


UNTOUCHED = [name for name in _scripts.names() if name not in {row.fault.name for row in declared(PACKAGE)}]


@pytest.mark.full
@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_is_only_reported_is_still_there(name):
    assert _scripts.shown(name), f"{name} is fixed here: say so in docs/findings.md, or remove it"


SMALL = """
| id | library and versions | what goes wrong | in Assay | thread |
| --- | --- | --- | --- | --- |
| [one](#one) | lib 1.0, 1.1 | it is wrong | worked around in `a.py` | [lib#1](https://github.com/o/lib/issues/1) |
| [two](#two) | lib 1.1 | it is worse | reported | no public thread found |

| id | library and versions | what is wrong | worked around in |
| --- | --- | --- | --- |
| three | lib 1.1 | it is slow | `b.py` |

### one

```python
print("shows")
```

```text
0 for 1
shows
```

### two

```python
print("gone")
```

```text
shows
```
"""


@pytest.mark.parametrize(
    ("said", "instead", "says"),
    [
        ("", "", []),
        ('print("gone")', 'print("Gone")', ["two: the page's script is not the file"]),
        ("0 for 1\nshows", "0 for 1\ngone", ["one: the page's output does not end with 'shows'"]),
        ("lib 1.0, 1.1", "lib 1.1", ["one: was seen in lib 1.0, 1.1, not lib 1.1"]),
        ("two](#two) | lib 1.1", "two](#two) | lib 1.0", ["two: was not looked for in lib 1.1"]),
        ("`a.py`", "`c.py`", ["one: is worked around in a.py:3"]),
        ("lib/issues/1", "lib", ["one: no thread"]),
        ("it is slow", "it is late", ["three: says 'it is late' for 'it is slow'"]),
        ("| three |", "| four |", ["four of the second table is unknown", "three is not in the second table"]),
        ("[two](#two)", "[too](#too)", ["too of the first table is unknown", "two is not in the first table"]),
        ("### two", "### too", ["too of the sections is unknown", "two is not in the sections"]),
    ],
)
def test_what_the_page_says_wrongly_is_found(said, instead, says):
    faults = [
        Declared(Fault("one", "lib", ("1.0", "1.1"), "it is wrong"), "a.py:3"),
        Declared(Fault("three", "lib", ("1.1",), "it is slow"), "b.py:5"),
    ]
    files = {"one": 'print("shows")\n', "two": 'print("gone")\n'}
    assert problems(read(SMALL.replace(said, instead)), files, faults, {"lib": "1.1"}) == says


@pytest.mark.parametrize(
    ("source", "there"),
    [("print('1 for 2\\nshows')", True), ("import sys; print('gone'); print(1, file=sys.stderr)", False)],
)
def test_what_a_script_saw(tmp_path, source, there):
    (tmp_path / "one.py").write_text(source)
    assert _scripts.shown("one", tmp_path) is there


def test_a_script_that_fails_saw_nothing(tmp_path):
    (tmp_path / "one.py").write_text("print('shows'); raise ValueError('no')")
    (tmp_path / "two.py").write_text("from transformers.models.none_such import modeling_none_such")
    with pytest.raises(AssertionError, match="ValueError: no"):
        _scripts.shown("one", tmp_path)
    with pytest.raises(pytest.skip.Exception, match="none_such"):
        _scripts.shown("two", tmp_path)


@pytest.mark.parametrize(
    ("name", "system", "machine", "tells"),
    [
        ("htp_one", "linux", "x86_64", True),
        ("htp_one", "linux", "aarch64", False),
        ("htp_one", "win32", "amd64", False),
        ("openvino_sums_of_8_bits_overflow", "darwin", "arm64", False),
        ("openvino_orders_no_ties", "darwin", "arm64", True),
    ],
)
def test_where_a_script_can_tell(name, system, machine, tells):
    assert (_scripts.cannot_tell(name, system, machine) == "") is tells

"""The examples of docs/python.md, run as they stand."""

import re
from pathlib import Path

import pytest

import assay

TEXT = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)


def test_every_example_runs(capsys):
    """One after the other, as a reader would type them."""
    names = {}
    for block in BLOCKS:
        exec(compile(block, "docs/python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "cpu [{'from': 'qnn', 'to': 'cpu', 'reason': '" in said
    assert "{'label': 'a cat', 'id': 0, 'score': " in said
    assert "(2, 2) [{'label': 'LABEL_" in said
    assert "'bert'" in said.splitlines()[-1]


def test_the_tables_name_what_there_is():
    """Every method, setting, argument and error stands in the document."""
    with assay.load("bert", "cpu") as model:
        settings = list(model.settings())
    errors = [name for name, kind in vars(assay).items() if isinstance(kind, type) and issubclass(kind, Exception)]
    public = {name: kind for name, kind in vars(assay.Model).items() if not name.startswith("_")}
    methods = [name for name, kind in public.items() if callable(kind)]
    properties = [name for name in public if name not in methods]
    arguments = [name for name in assay.load.__annotations__ if name != "return"]
    for name in [*settings, *errors, *arguments, *properties]:
        assert f"`{name}`" in TEXT, name
    for name in methods:
        assert re.search(rf"`{name}\(", TEXT), name


@pytest.mark.parametrize("extra", ["openvino", "qnn", "diffusion", "timm"])
def test_the_extras_are_those_of_the_package(extra):
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f"[{extra}]" in TEXT
    assert re.search(rf"^{extra} = \[", project, re.M)

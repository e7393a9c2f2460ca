"""What the tests of several files share."""

import json
from pathlib import Path

import pytest

from assay_runner.machine import instructions

# Before anything is computed: a processor may announce what ends the process. The answer is kept in a folder that git
# ignores, not where the developer's own Assay keeps its.
instructions.settle(folder=Path(__file__).parents[1] / ".pytest_cache" / "instructions")


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """One store of exported models for all: a graph is exported once and serves every engine, dtype and scenario."""
    return str(tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="session")
def catalogue():
    """The tiny recipes that come with Assay, by type: they are of one release of transformers."""
    import transformers

    file = Path(__file__).resolve().parents[3] / "internal/catalog/data/recipes.json"
    book = json.loads(file.read_text(encoding="utf-8"))
    if book["transformers"] != transformers.__version__:
        pytest.skip(f"the catalogue is of transformers {book['transformers']}")
    return {row["type"]: row for row in book["recipes"] if row["size"] == "tiny"}

"""What the tests of several files share."""

import pytest

from assay_runner import instructions

instructions.settle()  # before anything is computed: a processor may announce what ends the process


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """One store of exported models for all: a graph is exported once and serves every engine, dtype and scenario."""
    return str(tmp_path_factory.mktemp("exports"))

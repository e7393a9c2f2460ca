"""What starts a thread when it is imported is kept out of the process that forks, or named."""

from __future__ import annotations

import sys

import pytest
from runner_process import Runner, library, noop

from assay_runner.process import kept_out

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forking runners are for Linux")

STARTS = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
TRIES = """
__version__ = "9"
import importlib.util
if importlib.util.find_spec({name!r}):
    import {name}
"""


def libraries(folder, name):
    """A torch, a transformers that imports a package where it is installed, and that package, which starts a thread."""
    library(folder, "torch", "__version__ = '9'")
    library(folder, "transformers", TRIES.format(name=name))
    return library(folder, name, STARTS)


@pytest.mark.parametrize("name", kept_out.PACKAGES)
def test_packages_that_no_model_needs_do_not_keep_the_runner_from_forking(tmp_path, name):
    with Runner(libraries=libraries(tmp_path, name)) as runner:
        hello = runner.next()
        assert (hello["start"], hello["notes"]) == ("fork", [])
        assert runner.run(noop())[-1]["status"] == 0


def test_another_package_that_starts_a_thread_is_named(tmp_path):
    library(tmp_path, "carrier", "import culprit")
    with Runner(libraries=libraries(tmp_path, "culprit")) as runner:
        hello = runner.next()
        assert hello["start"] == "spawn"
        assert hello["notes"][0].startswith("importing culprit started a thread (")


@pytest.mark.parametrize("statement", ["from . import bg", "from .bg import x", "import inside.bg"])
def test_a_package_is_named_and_not_its_parts(tmp_path, statement):
    library(tmp_path, "torch", "__version__ = '9'")
    library(tmp_path, "transformers", TRIES.format(name="inside"))
    (tmp_path / "inside").mkdir()
    library(tmp_path / "inside", "__init__", statement)
    library(tmp_path / "inside", "bg", STARTS + "x = 1")
    with Runner(libraries=tmp_path) as runner:
        assert runner.next()["notes"][0].startswith("importing inside started a thread (")


def test_a_models_own_code_finds_them_again(monkeypatch, tmp_path):
    library(tmp_path, "pandas", "found = True")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    kept_out.hide()
    try:
        with pytest.raises(ImportError):
            import pandas
        kept_out.show()
        import pandas

        assert pandas.found
    finally:
        kept_out.show()
        sys.modules.pop("pandas", None)

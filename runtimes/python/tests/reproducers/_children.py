"""What may crash, or must begin with nothing imported, runs in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

_SECONDS = 300
_TESTS = Path(__file__).parents[1]
_PATH = os.pathsep.join(filter(None, (str(_TESTS), str(_TESTS.parent), os.environ.get("PYTHONPATH"))))


def _ran(code, **variables):
    environ = {**os.environ, "PYTHONPATH": _PATH, **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def ended_by(code, **variables):
    """The signal by which a process ends that runs the code, 0 where it ends by itself."""
    done = _ran(code, **variables)
    assert done.returncode <= 0, done.stderr  # an error of the reproducer's own says nothing of the library
    return -done.returncode


def printed(code, **variables):
    """What a process prints that runs the code, with variables of the environment."""
    done = _ran(code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()

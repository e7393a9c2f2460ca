"""Reproducers that are whole scripts: docs/findings.md shows them, and anybody can run them without Assay.

The last line that a script prints says what it saw: `shows` where the fault is there, `gone` where it is not.
"""

import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "scripts"
SAID = {"shows": True, "gone": False}
_SECONDS = 300
_ABSENT = re.compile(r"^(?:ModuleNotFoundError|ImportError): .*\btransformers\b.*", re.MULTILINE)


def names(folder=FOLDER):
    return sorted(file.stem for file in folder.glob("*.py"))


def shown(name, folder=FOLDER):
    """Whether a script sees its fault. Skips where this machine, or this release of transformers, cannot tell."""
    if why := cannot_tell(name, sys.platform, platform.machine().lower()):
        pytest.skip(why)
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [sys.executable, folder / f"{name}.py"],
            cwd=elsewhere, capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    if done.returncode and (absent := _ABSENT.search(done.stderr)):
        pytest.skip(f"this release has nothing of the kind: {absent[0]}")
    assert done.returncode == 0, done.stderr
    return SAID[done.stdout.strip().rpartition("\n")[2]]


def cannot_tell(name, system, machine):
    """Why a script says nothing on a machine; empty where it does."""
    x86 = machine in ("x86_64", "amd64")
    if name.startswith("htp_") and not (system == "linux" and x86):
        return "Qualcomm's emulator is for Linux on x86-64"
    if name == "openvino_sums_of_8_bits_overflow" and not x86:
        return "only x86 has instructions of 8 bits that overflow"
    return ""

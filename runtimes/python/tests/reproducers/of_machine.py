"""Faults that only some machines, or only some Pythons of users, show."""

import signal

import pytest

from assay_runner.machine import instructions
from reproducers._children import ended_by, printed

_TILES = 0x1D  # the leaf of CPUID that describes AMX's tiles


def onednn_trusts_announced_tiles():
    this = instructions.processor()
    if "amx_tile" not in this.flags or int(this.fields.get("cpuid level", _TILES)) >= _TILES:
        pytest.skip("needs a virtual machine that announces AMX and hides the leaf of CPUID about it")
    code = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
    return ended_by(code, ONEDNN_MAX_CPU_ISA="") == signal.SIGILL


def pyarrow_starts_a_thread():
    pytest.importorskip("pyarrow")
    return int(printed("import pyarrow; from assay_runner.process import linux; print(linux.tasks())")) > 1

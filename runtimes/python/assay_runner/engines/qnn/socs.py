"""The Qualcomm systems on chip that QNN compiles for: one table, which detection reads too."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from assay_runner.errors import AbsentDevice

FILE = Path(__file__).parents[2] / "data" / "qnn_socs.json"


@dataclass(frozen=True)
class SoC:
    """A row of the table."""

    id: str  # the target's device
    title: str
    names: list[str]  # how the system calls itself
    model: int  # QNN's soc_model
    htp: int  # generation of the Hexagon tensor processor
    fp16: bool  # it computes in fp16
    emulated: bool  # the emulator was seen to run models for it


@functools.cache
def socs() -> dict[str, SoC]:
    """The table, by id."""
    return {row["id"]: SoC(**row) for row in json.loads(FILE.read_bytes())["socs"]}


def default() -> SoC:
    """What a cell that names no device is compiled for where there is none."""
    return socs()[json.loads(FILE.read_bytes())["default"]]


def find(device: str) -> SoC:
    """The row of a device, by its id or by a name it is sold under."""
    wanted = device.lower()
    for row in socs().values():
        if wanted == row.id or wanted in row.names:
            return row
    raise AbsentDevice(f"there is no system {device!r} among those that QNN compiles for: {', '.join(socs())}")

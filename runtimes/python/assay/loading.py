"""Finds the platform that a model runs on: the requested one or one of its fallbacks, with a reason for each step."""

from __future__ import annotations

import platform as machine
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay_runner.errors import AbsentDevice, LibraryAbsent, UnsupportedDType

from . import platforms
from .engines import Engine
from .errors import Unavailable, told
from .on_graph import OnGraph
from .on_torch import OnTorch
from .platforms import AUTO, Target
from .subjects import Subject

ENGINES: Mapping[str, Callable[[Subject, Target, str], Engine]] = {
    "torch": OnTorch,
    "openvino": OnGraph,
    "qnn": OnGraph,
    "ort-web": OnGraph,
}
"""A platform's engine → what runs a model there."""


@dataclass(frozen=True)
class Step:
    """A platform that could not have the model, where it went then, and why."""

    source: str
    to: str
    reason: str

    def report(self) -> dict[str, str]:
        """As settings and the program's results have it."""
        return {"from": self.source, "to": self.to, "reason": self.reason}


@dataclass(frozen=True)
class Placed:
    """A model on its platform."""

    engine: Engine
    target: Target
    dtype: str
    steps: tuple[Step, ...] = ()


def place(subject: Subject, asked: str, dtype: str | None, fallback: bool) -> Placed:
    """Opens the model on the asked platform, or where it goes instead."""
    targets = _targets(subject, asked)
    steps: list[Step] = []
    for i, target in enumerate(targets):
        chosen = dtype or target.platform.dtypes[0]
        try:
            return Placed(opened(subject, target, chosen), target, chosen, tuple(steps))
        except Exception as error:
            raised, reason = told(error)
            if not fallback or not reason or i + 1 == len(targets):
                raise raised from error
            steps.append(Step(str(target), str(targets[i + 1]), reason))
    raise Unavailable("no platform is here")  # the CPU always is


def opened(subject: Subject, target: Target, dtype: str) -> Engine:
    """The model on a target."""
    if dtype not in target.platform.dtypes:
        known = ", ".join(target.platform.dtypes)
        raise UnsupportedDType(f"{target.platform.platform} does not run in {dtype}: its dtypes are {known}")
    return ENGINES[target.platform.engine](subject, target, dtype)


def _targets(subject: Subject, asked: str) -> list[Target]:
    """The asked platform and its fallbacks; for `auto`, of the family's order those that are here and no emulator."""
    if asked.strip().lower() == AUTO:
        return [target for target in platforms.preferred(subject.family) if _genuine(target)]
    return platforms.chain(platforms.parse(asked))


def _genuine(target: Target) -> bool:
    """Whether a platform is here, and is what it says it is."""
    try:
        _PRESENT[target.platform.engine](target)
    except (AbsentDevice, LibraryAbsent, ImportError):
        return False
    return True


def _torch(target: Target) -> None:
    from assay_runner.machine import devices

    devices.Device(target.platform.platform, target.device)


def _openvino(target: Target) -> None:
    import onnx  # noqa: F401 - its graphs come from there
    import openvino

    if target.device not in openvino.Core().available_devices:
        raise AbsentDevice(f"OpenVINO has no {target.device}")


def _qnn(target: Target) -> None:
    from assay_runner.engines.contract import Asked
    from assay_runner.engines.qnn import provider

    asked = Asked(target.platform.platform, target.device, target.platform.dtypes[0], 0)
    if provider.provider(asked).emulated:
        raise AbsentDevice(f"on {machine.machine()} the HTP is emulated")


_PRESENT: Mapping[str, Callable[[Target], Any]] = {"torch": _torch, "openvino": _openvino, "qnn": _qnn}
"""An engine → what raises where its device is not here."""

"""A model whose layers are split over devices (`device_map`), by accelerate: the first layers on the cell's device, the
others on the next ones of its kind, or on the host where there is no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from assay_runner.errors import AbsentDevice, Unsuited
from assay_runner.machine.devices import Device

LAYERS = "layers"


def refuse_one(device: Device) -> None:
    """Raises AbsentDevice where there is nothing to split a model over."""
    if device.cpu:
        raise AbsentDevice(
            "a layer split needs two devices, and the processor is one: choose a GPU, whose host is another"
        )


def places(device: Device) -> list[str]:
    """The devices that a model is split over: all of the platform, or its one and the host."""
    count = device.module.device_count()
    own = [f"{device.kind.type}:{i}" for i in range(count)]
    return own if count > 1 else [*own, "cpu"]


def plan(model: torch.nn.Module, where: Sequence[Any]) -> dict[str, Any]:
    """Which part goes where: layers of the longest list in equal shares, in order; what is before them on the first
    device, what is behind them on the last, but what shares a weight with a part before beside that part."""
    lists = [(name, m) for name, m in model.named_modules() if isinstance(m, torch.nn.ModuleList) and len(m) > 1]
    if not lists:
        raise Unsuited(f"{type(model).__name__} has no list of layers to split")
    longest, layers = max(lists, key=lambda row: len(row[1]))
    found: dict[str, Any] = {}
    homes: dict[int, Any] = {}
    behind = False
    for name, part in _leaves(model, longest):
        own = [id(p) for p in part.parameters()]
        if name.startswith(longest + "."):
            index = int(name[len(longest) + 1 :])
            found[name], behind = where[index * len(where) // len(layers)], True
        elif not own or not behind:
            found[name] = where[0]
        else:
            found[name] = next((homes[p] for p in own if p in homes), where[-1])
        homes |= dict.fromkeys(own, found[name])
    return found


def _leaves(model: torch.nn.Module, longest: str, prefix: str = "") -> list[tuple[str, torch.nn.Module]]:
    """The modules that a plan names: those that hold the layers are opened, the others stay whole."""
    found: list[tuple[str, torch.nn.Module]] = []
    for name, child in model.named_children():
        path = f"{prefix}{name}"
        if path == longest:
            found += [(f"{path}.{i}", layer) for i, layer in enumerate(child)]
        elif longest.startswith(path + "."):
            found += _leaves(child, longest, path + ".")
        else:
            found.append((path, child))
    return found


def split(model: torch.nn.Module, device: Device) -> dict[str, Any]:
    """Splits a model in place; what a report says of it. A layer computes where it is, on the host too: accelerate's
    own `dispatch_model` would keep a host's layers there and bring their weights to the device for every forward."""
    from accelerate.hooks import attach_align_device_hook_on_blocks
    from accelerate.utils import find_tied_parameters, retie_parameters

    where = places(device)
    planned, tied = plan(model, where), find_tied_parameters(model)
    pointers = {model.get_parameter(name).data_ptr(): {} for group in tied for name in group}
    attach_align_device_hook_on_blocks(
        model, {**planned, "": where[0]}, offload=dict.fromkeys(planned, False), tied_params_map=pointers
    )
    retie_parameters(model, tied)
    sharded = sum(str(p.device) != where[0] for p in model.parameters())
    return {"way": LAYERS, "procs": len(where), "backend": "", "sharded": sharded}

"""Jobs on the device, in a process of their own: python -m shelf.run LIBRARY prints what each case gave, as JSON."""

import json
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from unittest import mock

import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.torch import engine
from assay_runner.machine import devices, plugins
from assay_runner.probes import torch_probe
from shelf import maker

KEPT = []


def reported(kind="check", recipe=torch_recipes.BERT, **cell):
    emit = Emit()
    engine.run(job(recipe, kind, platform="hpu", size="tiny", **cell), emit)
    return emit.reports[0]


def unclean(forward):
    """A forward that keeps what it made on the device."""

    def kept(self, *args, **kwargs):
        found = forward(self, *args, **kwargs)
        KEPT.append(torch.empty(1 << 20, dtype=torch.uint8, device=self.weight.device))
        return found

    return kept


def lossy(to):
    """A way to the device on which small numbers are lost."""

    def moved(self, *args, **kwargs):
        with torch.no_grad():
            next(iter(self.parameters())).mul_(1.0000001)
        return to(self, *args, **kwargs)

    return moved


def cases():
    """Each with what it replaces."""
    none = mock.patch.object(maker, "__doc__", maker.__doc__)
    yield "moved", none, {"scenario": "moves"}
    yield "timed", none, {"scenario": "moves", "kind": "time"}
    yield "plain", none, {}
    yield "split", none, {"parallel": "layers"}
    tied = torch_recipes.LLAMA["config"] | {"tie_word_embeddings": True}
    yield "tied", none, {"parallel": "layers", "recipe": torch_recipes.LLAMA | {"config": tied}}
    yield "kept", mock.patch.object(torch.nn.Linear, "forward", unclean(torch.nn.Linear.forward)), {"scenario": "moves"}
    yield "lossy", mock.patch.object(torch.nn.Module, "to", lossy(torch.nn.Module.to)), {"scenario": "moves"}
    yield "deaf", mock.patch.object(torch.hpu, "memory_allocated", lambda device=None: 7), {"scenario": "moves"}
    yield (
        "mute",
        mock.patch.object(torch.hpu, "memory_allocated", side_effect=RuntimeError("none")),
        {"scenario": "moves"},
    )


def main(library):
    package = ModuleType("habana_frameworks")
    package.__spec__, package.__path__ = ModuleSpec(package.__name__, None), []
    inner = ModuleType("habana_frameworks.torch")
    inner.__spec__ = ModuleSpec(inner.__name__, None)
    sys.modules |= {package.__name__: package, inner.__name__: inner}
    maker.register(library, "hpu")
    found = {"probe": torch_probe.answer()["plugins"]}
    for name, replaced, cell in cases():
        with replaced:
            found[name] = reported(**cell)
    found["name"] = devices.Device("hpu").name()
    found["installed"] = {kind: plugins.installed(kind) for kind in plugins.PACKAGES}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])

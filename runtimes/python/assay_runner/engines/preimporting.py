"""What is imported before a job runs.

Both functions only import: the parent process that forks children calls them, and
it must compute nothing and start no thread.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from assay_runner.engines.backends import BACKENDS
from assay_runner.process import linux

_PREIMPORT = (
    "numpy",
    "torch",
    "torch.utils._python_dispatch",
    "torch.multiprocessing.reductions",
    "transformers",
    "transformers.modeling_utils",
    "transformers.configuration_utils",
    "transformers.modeling_outputs",
    "transformers.masking_utils",
    "transformers.integrations.sdpa_attention",
    "assay_runner.engines.torch.engine",
    "assay_runner.subjects.programs.table",
)
# What nearly every modelling module imports.
_SHARED = ("transformers.modeling_layers", "transformers.generation.utils", "transformers.models.auto.modeling_auto")
# These import the following packages where they are installed, which start threads in some of their versions: it is
# tried first in a process that ends with it.
_SUSPECTED = ("torchaudio",)
# What writing a graph imports on its way, seconds of it. None of these starts a thread; onnxruntime does.
_EXPORT = (
    "torch.export",
    "torch.onnx",
    "torch._dynamo",
    "torch.onnx._internal.exporter._core",
    "networkx",
    "sympy",
    "onnx",
    "onnxscript",
    "onnx_ir",
    "assay_runner.exporting.trying",
    "assay_runner.engines.graphs.driver",
    "transformers.exporters.exporter_onnx",
)
# Parts that older versions of transformers do not have.
_SINCE_LATER = frozenset(
    {"transformers.masking_utils", "transformers.integrations.sdpa_attention", "transformers.modeling_layers"}
)


def preimport() -> dict[str, str]:
    """Imports what every job needs. Returns what could not be imported, and why."""
    missing = _imported(_PREIMPORT)
    if not missing:
        importlib.import_module("assay_runner.machine.context").packages()
    if not any(map(find_spec, _SUSPECTED)) or _starts_nothing(_SHARED):
        missing |= _imported(_SHARED)
    return missing


def _imported(names: tuple[str, ...]) -> dict[str, str]:
    missing = {}
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as err:
            if name not in _SINCE_LATER:
                missing[name] = str(err)
    return missing


def _starts_nothing(names: tuple[str, ...]) -> bool:
    """Whether importing these leaves a process with one thread, as far as one can fork to try."""
    if not linux.IS_LINUX or linux.tasks() != 1:
        return False
    trial = os.fork()
    if trial == 0:
        status = 1
        with contextlib.suppress(BaseException):
            _imported(names)
            status = int(linux.tasks() != 1)
        os._exit(status)
    return os.waitpid(trial, 0)[1] == 0


def before_fork(job: Mapping[str, Any]) -> None:
    """Imports in the parent what the job's child and those after it need: the exporters for checks of exported graphs,
    which are of another model each time, else the job's own modelling module, which its repeats share."""
    if job.get("laws"):
        _loaders()
        if not job.get("preload"):
            return
    if job.get("kind") == "check" and (job.get("cell") or {}).get("engine") in BACKENDS:
        _exporters()
    else:
        preload(job)


def _exporters() -> None:
    for name in _EXPORT:
        importlib.import_module(name)
    from transformers.exporters import utils

    from assay_runner.exporting import optimising, store

    store.code()  # reading the runner's sources takes 20 ms, and children inherit what came of it
    with utils.apply_patches("onnx"):  # it imports every modelling module that it has a patch for
        pass
    optimising.read_operators()


def _loaders() -> None:
    """The library's table of how checkpoints are renamed: a tenth of a second, and children inherit it."""
    with contextlib.suppress(ImportError):  # older versions have none
        importlib.import_module("transformers.conversion_mapping").get_checkpoint_conversion_mapping("")


def preload(job: Mapping[str, Any]) -> None:
    """Imports the modelling modules of the job's recipe, and what models take from the library while they are built."""
    recipe = job.get("recipe") or {}
    # A model's own code is only ever run in a child; a graph has none.
    if recipe and not recipe.get("code") and recipe.get("type") != "onnx":
        importlib.import_module("transformers.modeling_utils")
        _classes(job["recipe"])
        if _uses_timm(job["recipe"].get("config")) and find_spec("timm"):
            # Otherwise it is imported while the model is built, and its time is taken for the model's.
            importlib.import_module("transformers.models.timm_backbone.modeling_timm_backbone")


def _classes(recipe: Mapping[str, Any]) -> None:
    if recipe.get("program"):
        from assay_runner.subjects.programs import table

        table.of(recipe).preload(recipe)
    else:
        from assay_runner.subjects import models

        models.model_class(recipe)


def _uses_timm(config: Any) -> bool:
    """Whether a configuration, or one inside it, is a backbone of timm."""
    if isinstance(config, Mapping):
        return config.get("model_type") == "timm_backbone" or any(map(_uses_timm, config.values()))
    return False

"""Assay's Python interface: one model on one platform, in three lines.

    import assay

    model = assay.load("bert", platform="auto")
    print(model.run("some text"), model.settings()["platform"])
    model.release()

How the parts fit. `subjects` settles which model is meant, at which size and with which weights, by the program's
catalogue (`catalogue`, `tables`). `loading` finds a platform for it by the program's own order (`platforms`) and notes
every step away from the requested one. `engines` runs it there with the runner's code (package `assay_runner`):
torch, or a graph exported for OpenVINO, QNN or a browser's page (`pages`). `holding` holds models for the program,
and `sharing` the parts that they have in common. `natural` turns texts, images and audio into arrays, and arrays into
answers. `model.Model` is all of that together, and `errors` what can go wrong.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from typing import Any

if importlib.util.find_spec("torch") is None:
    raise ImportError(
        "the Python package assay needs torch, which is not installed here: pip install 'assay[torch]' "
        "(the program assay, which came with it, does not)"
    )

from assay_runner.machine import instructions

from . import loading, platforms, subjects
from .errors import AssayError, BadInput, Released, Unavailable, UnknownModel, Unsupported
from .model import Model
from .natural import readers

__all__ = ["AssayError", "BadInput", "Model", "Released", "Unavailable", "UnknownModel", "Unsupported", "load"]


def load(
    model: str | os.PathLike[str],
    platform: str = "auto",
    *,
    dtype: Any = None,
    weights: str | None = None,
    size: str | None = None,
    fallback: bool = True,
) -> Model:
    """Loads a model on a platform.

    `model` is a type (`"bert"`: tiny, with random weights that are the same everywhere), a checkpoint
    (`"google-bert/bert-base-uncased"`: its true size, and its own weights where the Hugging Face cache has them) or a
    folder with a config.json. Nothing is loaded from a network.

    `platform` is cpu, cuda, rocm, mps, openvino, qnn, webnn or webgpu, with a device after a colon if there are
    several; `auto` is the best that is here. Where the asked one is not here, or cannot run the model, the next of
    its fallbacks is taken: a warning says so, and `settings()["fallback"]` has each step. With `fallback=False`
    that is an error instead.

    `dtype` is one of the platform's (`"fp16"`); the platform's own default where it is left out. `weights` is
    `"random"`, `"hub"` (the checkpoint's own) or a folder; `size` is `"tiny"` or `"full"`.
    """
    subject = subjects.find(model, size, weights)
    lowered = instructions.settle()
    reader, more = readers.reader(subject)
    placed = loading.place(subject, platform, platforms.dtype(dtype), fallback)
    notes = [*subject.notes, *more]
    for step in placed.steps:
        warnings.warn(f"{subject.name} runs on {step.to} instead of {step.source}: {step.reason}", stacklevel=2)
    for note in notes:
        warnings.warn(f"{subject.name}: {note}", stacklevel=2)
    if lowered and placed.target.platform.platform in ("cpu", "openvino"):
        notes.append(f"{instructions.VARIABLE}={lowered}, which limits the instructions that oneDNN uses")
    return Model(subject, platform, placed, reader, notes)

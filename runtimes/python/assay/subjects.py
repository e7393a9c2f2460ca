"""Which model is meant, at which size and with which weights: settled before anything is built.

A folder with a config.json is a model of its own, at its true size. Weights of a checkpoint are its own where the
Hugging Face cache has them whole; nothing is ever loaded from a network here: `assay fetch` does that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HFValidationError

from assay_runner.errors import MissingWeights, RunnerError
from assay_runner.subjects import checkpoints
from assay_runner.subjects.recipes import adopting, given, making

from . import catalogue
from .catalogue import FULL, TINY, Named
from .errors import Unavailable, UnknownModel, Unsupported, told

RANDOM, HUB = "random", "hub"
SEED = 0


@dataclass(frozen=True)
class Subject:
    """A model to be loaded."""

    name: str  # as it was asked for
    recipe: Mapping[str, Any]
    family: str
    weights: str  # random, hub, or the folder that they are in
    folder: str = ""  # that holds them, with the configuration and the processors beside; "" for random ones
    notes: tuple[str, ...] = ()

    def job(self, target: Any, dtype: str, **more: Any) -> dict[str, Any]:
        """The runner's job of this model on a target."""
        recipe = self.recipe
        cell = {key: recipe.get(key, "") for key in ("type", "class", "task", "size", "checkpoint")}
        where = {"platform": target.platform.platform, "device": target.device, "engine": target.platform.engine}
        cell |= where | {"family": self.family, "weights": self.weights, "dtype": dtype, "seed": SEED, **more}
        given = {"weights": {"folder": self.folder, "pickle": False}} if self.folder else {}
        return {"kind": "check", "cell": cell, "recipe": recipe, "points": [{"batch": 1}], **given}


def find(model: str | os.PathLike[str], size: str | None = None, weights: str | None = None) -> Subject:
    """The model that a name or a folder means."""
    if size not in (None, TINY, FULL):
        raise Unsupported(f"unknown size {size!r}: the sizes are {TINY} and {FULL}")
    try:
        return _found(model, size, weights)
    except RunnerError as error:
        raise told(error)[0] from error


def _found(model: str | os.PathLike[str], size: str | None, weights: str | None) -> Subject:
    name = str(model)
    if _is_path(model):
        if size == TINY:
            raise Unsupported(f"{name} is a folder with a model of its true size: name its type for a tiny one")
        return _described(Path(model).expanduser(), name, weights)
    try:
        named = catalogue.resolve(name)
    except UnknownModel:
        if (folder := _cached(name)) is None:
            raise
        return _described(folder, name, weights, checkpoint=name)
    size = size or (FULL if named.checkpoint else TINY)
    return _tiny(name, named, weights) if size == TINY else _full(name, named, weights)


def _tiny(name: str, named: Named, weights: str | None) -> Subject:
    recipe, weights = _current(catalogue.recipe(named, TINY)), weights or RANDOM
    if weights == HUB:
        raise Unsupported(f"{name} is tiny, and there are no published weights for that: name a checkpoint")
    return Subject(name, recipe, named.entry["family"], weights, _given(weights))


def _full(name: str, named: Named, weights: str | None) -> Subject:
    try:
        recipe = catalogue.recipe(named, FULL)
    except Unsupported:
        if (cached := _cached(named.checkpoint)) is None:
            raise
        return _described(cached, name, weights, checkpoint=named.checkpoint)
    chosen, folder, notes = _published(recipe["checkpoint"], weights)
    return Subject(name, recipe, named.entry["family"], chosen, folder, notes)


def _published(checkpoint: str, weights: str | None) -> tuple[str, str, tuple[str, ...]]:
    """The weights of a checkpoint: which, where, and what there is to say about it."""
    if weights and weights != HUB:
        return weights, _given(weights), ()
    folder = _cached(checkpoint)
    if folder is not None and _whole(folder):
        return HUB, str(folder), ()
    absent = f"the weights of {checkpoint} are not in the Hugging Face cache: assay fetch {checkpoint} loads them"
    if weights == HUB:
        raise Unavailable(absent)
    return RANDOM, "", (f"random weights: {absent}",)


def _described(folder: Path, name: str, weights: str | None, checkpoint: str = "") -> Subject:
    """A model by the config.json of a folder, with the weights beside it where there are any. The folder may be the
    cache's, of a checkpoint."""
    folder = folder.parent if folder.suffix == ".json" else folder
    if not (folder / "config.json").is_file():
        raise UnknownModel(f"{name} has no config.json: name a type, a checkpoint, or a checkpoint's folder")
    recipe = {**given.recipe(folder), "checkpoint": checkpoint}
    family = catalogue.types().get(recipe["type"], {}).get("family", "other")
    if weights and weights != HUB:
        return Subject(name, recipe, family, weights, _given(weights))
    if weights or _whole(folder):
        return Subject(name, recipe, family, HUB if checkpoint else str(folder), str(folder))
    note = f"random weights: {folder} has no complete safetensors files"
    return Subject(name, recipe, family, RANDOM, notes=(note,))


def _given(weights: str) -> str:
    """The folder that weights are in; "" for random ones."""
    if weights == RANDOM:
        return ""
    folder = Path(weights).expanduser()
    if not folder.is_dir():
        raise Unavailable(f"weights are {RANDOM}, {HUB}, or a folder, and {weights!r} is none of them")
    return str(folder)


def _current(recipe: dict[str, Any]) -> dict[str, Any]:
    """A tiny recipe that holds with the installed release of the library; another release made it otherwise."""
    if recipe.get("transformers", transformers.__version__) == transformers.__version__ or adopting.holds(recipe):
        return recipe
    return making.tiny(recipe["type"], recipe["task"])


def _cached(checkpoint: str) -> Path | None:
    """The checkpoint's folder in the Hugging Face cache, if that knows it."""
    if checkpoint.count("/") != 1:
        return None
    try:
        return Path(snapshot_download(checkpoint, local_files_only=True))
    except (OSError, HFValidationError):
        return None


def _whole(folder: Path) -> bool:
    """Whether a folder has every file of a model's weights."""
    try:
        return all(file.is_file() for file in checkpoints.files(str(folder)))
    except MissingWeights:
        return False


def _is_path(model: str | os.PathLike[str]) -> bool:
    """Whether a folder is meant, by the program's rule: one that is there is never looked for elsewhere."""
    if isinstance(model, os.PathLike):
        return True
    if "/" in model and (Path(model).expanduser() / "config.json").is_file():
        return True
    return model.startswith((".", "~")) or Path(model).is_absolute() or model.endswith((".json", os.sep))

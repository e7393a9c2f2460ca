"""Finds, constructs and loads the model that a recipe names.

What is constructed, and so what a call of it does, is the business of the
recipe's program (`programs`); weights, dtypes and counts are the same for all.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from assay_runner import owncode
from assay_runner.errors import BadRecipe, MissingWeights, NotInRelease, TooLarge

_NO_OTHER_BACKBONE = {"backbone": None, "use_timm_backbone": False}
# Models stated to be at least this large are counted without memory before they are built; smaller ones are
# watched while they are built, which costs nothing.
_COUNT_FROM = 20_000_000


def model_class(recipe: Mapping[str, Any]) -> type:
    """The class that a recipe names: from the top of transformers, or from its type's own module."""
    return _find(recipe["class"], recipe, "modeling")


def config_class(recipe: Mapping[str, Any]) -> type:
    """The configuration class that a recipe names, else the model class's own."""
    if not recipe.get("config_class"):
        return model_class(recipe).config_class
    return _find(recipe["config_class"], recipe, "configuration")


def _find(name: str, recipe: Mapping[str, Any], part: str) -> type:
    import transformers

    if not name.isidentifier():
        raise BadRecipe(f"{name!r} is not the name of a class")
    if own := recipe.get("code"):
        return owncode.found(own["folder"], own[part])
    found = getattr(transformers, name, None)
    kind = recipe.get("type", "").replace("-", "_")
    for module in (recipe.get("module", ""), f"transformers.models.{kind}.{part}_{kind}"):
        if found is None and module.startswith("transformers.models."):
            try:
                found = getattr(importlib.import_module(module), name, None)
            except ModuleNotFoundError:
                continue
    if not inspect.isclass(found) and recipe.get("type") and not in_release(recipe["type"]):
        raise NotInRelease(
            f"transformers {transformers.__version__} has no model type {recipe['type']!r}: install a later release"
        )
    if not inspect.isclass(found):
        raise BadRecipe(f"transformers {transformers.__version__} has no class {name}")
    return found


def in_release(model_type: str) -> bool:
    """Whether the installed transformers has a type, or a package of its name."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    package = model_type.replace("-", "_")
    return model_type in CONFIG_MAPPING_NAMES or (
        package.isidentifier() and find_spec(f"transformers.models.{package}") is not None
    )


def config(recipe: Mapping[str, Any], attention: str | None = None) -> Any:
    """The configuration; attention names an implementation, None leaves the choice to the library."""
    cls = config_class(recipe)
    values = _copied(recipe.get("config", {}))
    made = _as_read(cls, _unrivalled(cls, values))
    _forbid_downloads(made)
    if attention is not None:
        made._attn_implementation = attention
    return made


def _unrivalled(cls: type, values: dict[str, Any]) -> dict[str, Any]:
    """Where a backbone's configuration is given, the defaults that name another one are taken back: older releases
    of transformers refuse both together."""
    if not values.get("backbone_config"):
        return values
    known = inspect.signature(cls.__init__).parameters
    return {name: value for name, value in _NO_OTHER_BACKBONE.items() if name in known} | values


def _as_read(cls: type, values: dict[str, Any]) -> Any:
    """The configuration as it is when read from a file: there, defaults that are tuples are lists."""
    made = cls(**_copied(values))
    known = inspect.signature(cls.__init__).parameters
    tuples = {name: list(value) for name, value in vars(made).items() if isinstance(value, tuple) and name in known}
    return cls(**{**tuples, **values}) if set(tuples) - set(values) else made


def _forbid_downloads(made: Any) -> None:
    """No part of the configuration asks for published weights of a backbone: all weights are the cell's."""
    from transformers import PretrainedConfig

    for name, value in list(vars(made).items()):
        if isinstance(value, PretrainedConfig):
            _forbid_downloads(value)
        elif name == "use_pretrained_backbone":
            made.use_pretrained_backbone = False


def _copied(value: Any) -> Any:
    """A deep copy of JSON values: configuration classes keep and change what they are given."""
    if isinstance(value, Mapping):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


@contextmanager
def default_dtype(dtype: Any) -> Any:
    """New tensors are of this dtype inside: how transformers itself builds in half precision, so that tables which
    name float32 themselves (rotary frequencies) keep it."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@dataclass
class Built:
    """A model ready to run, and what is to be known of it."""

    model: Any
    parameters: int
    attention: str | None
    weights: dict[str, Any]  # what decides its weights: part of the subject
    unused: list[str] = field(default_factory=list)  # tensors of given weights that it has no place for


def parameter_count(recipe: Mapping[str, Any]) -> int | None:
    """How many parameters the model would have, found without memory; None where construction needs real tensors."""
    import torch

    from assay_runner import programs

    construct = programs.of(recipe).construct
    try:
        with torch.device("meta"):
            return count(construct(recipe, None))
    except (NotImplementedError, RuntimeError):
        return None


def count(model: Any) -> int:
    """Parameters, tied ones once."""
    return sum(p.numel() for p in model.parameters())


def refuse_too_large(recipe: Mapping[str, Any], bytes_each: int, available: int | None) -> None:
    """Raises TooLarge, before anything is allocated, for a model that cannot fit."""
    stated = recipe.get("parameters") or _COUNT_FROM
    if available is None or stated < _COUNT_FROM:
        return
    n = parameter_count(recipe)
    if n is not None and n * bytes_each > available:
        need, have = n * bytes_each / 1e9, available / 1e9
        raise TooLarge(f"{n:,} parameters of {bytes_each} bytes need {need:,.1f} GB; {have:,.1f} GB are available")


def build(
    recipe: Mapping[str, Any],
    dtype: Any,
    seed: int,
    *,
    attention: str | None = None,
    threads: int = 1,
    available: int | None = None,
) -> Built:
    """A model with drawn weights, in eval mode, on the CPU."""
    from assay_runner import programs, stream, weights

    construct = programs.of(recipe).construct
    gain = float(recipe.get("gain", 1.0))
    with default_dtype(dtype):
        drawn = weights.drawn(lambda: construct(recipe, attention), seed, gain, threads, available)
    model = drawn.model.eval()
    keep_float32(model, dtype)
    facts = {"weights": "random", "stream": stream.VERSION, "seed": seed, "gain": gain, "drawn": drawn.draws}
    return Built(model, count(model), attention_of(model), facts)


def load(
    recipe: Mapping[str, Any],
    folder: str,
    dtype: Any,
    seed: int,
    *,
    attention: str | None = None,
    threads: int = 1,
    pickle: bool = False,
) -> Built:
    """A model with the weights of a folder. A pickle is read only where that is allowed, and then by torch's restricted
    unpickler, which refuses code. What the folder lacks is drawn as random weights are, so that it too is the same
    everywhere."""
    from assay_runner import checkpoints, programs, stream, weights

    around = programs.of(recipe).around
    if around is None:
        raise BadRecipe(f"program {recipe['program']!r} cannot read weights from a folder: use random weights")
    files = checkpoints.files(folder, pickle)
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, "weights_only": True}
    options["use_safetensors"] = not checkpoints.is_pickled(files)
    if attention is not None:
        options["attn_implementation"] = attention
    cls = model_class(recipe)
    try:
        options["config"] = cls.config_class.from_pretrained(folder, local_files_only=True)
        _same_model(recipe, options["config"], folder)
        _forbid_downloads(options["config"])
        with weights.fixed_generators(seed):
            model, info = cls.from_pretrained(folder, torch_dtype=dtype, output_loading_info=True, **options)
    except OSError as err:
        raise MissingWeights(f"cannot read weights from {folder}: {err}") from err
    missing, unused = (sorted(info.get(name, [])) for name in ("missing_keys", "unexpected_keys"))
    if not {name for name, _ in model.named_parameters()} - set(missing):
        raise MissingWeights(f"{folder} holds none of the tensors of {cls.__name__}: its weights are another model's")
    facts: dict[str, Any] = {"weights": checkpoints.digest(files), "missing": missing}
    if missing:
        made = copy.deepcopy(model.config)
        with default_dtype(dtype):
            facts["drawn"] = weights.fill_gaps(model, lambda: cls(made), missing, seed, threads)
        facts["stream"] = stream.VERSION
    with weights.fixed_generators(seed), default_dtype(dtype):
        model = around(recipe, model).eval()
    return Built(model, count(model), attention_of(model), facts, unused)


def _same_model(recipe: Mapping[str, Any], found: Any, folder: str) -> None:
    """Refuses weights of another model: their result would stand under this one's name."""
    asked, given = config(recipe).to_dict(), found.to_dict()
    for name in recipe.get("config", {}):
        ours, theirs = asked.get(name), given.get(name)
        if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
            raise BadRecipe(
                f"the weights in {folder} are of another model: their {name} is {theirs}, and {ours} was asked for; "
                "name the folder itself to test it"
            )


def keep_float32(model: Any, dtype: Any) -> None:
    """Parts that a class says must stay in float32 do, as they would when loaded; of a program, each part's own."""
    import torch

    for part in getattr(model, "separate_parts", ()):
        keep_float32(part, dtype)

    names = list(getattr(model, "_keep_in_fp32_modules_strict", None) or [])
    if dtype is torch.float16:
        names += list(getattr(model, "_keep_in_fp32_modules", None) or [])
    if not names or dtype is torch.float32:
        return
    for name, parameter in model.named_parameters():
        if parameter.is_floating_point() and any(part in names for part in name.split(".")):
            parameter.data = parameter.data.float()


def attention_of(model: Any) -> str | None:
    """The attention implementation that the library chose."""
    return getattr(getattr(model, "config", None), "_attn_implementation", None)

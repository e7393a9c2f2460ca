"""Builds and loads the model that a recipe names.

What is constructed, and so what a call of it does, is the business of the
recipe's program; weights, dtypes and counts are the same for all.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from assay_runner.errors import BadRecipe, MissingWeights, TooLarge
from assay_runner.subjects import models

# Models stated to be at least this large are counted without memory before they are built; smaller ones are
# watched while they are built, which costs nothing.
_COUNT_FROM = 20_000_000


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
    """A model ready to run, and what is known about it."""

    model: Any
    parameters: int
    attention: str | None
    weights: dict[str, Any]  # what decides its weights: part of the subject
    unused: list[str] = field(default_factory=list)  # tensors of given weights that it has no place for


def parameter_count(recipe: Mapping[str, Any]) -> int | None:
    """How many parameters the model would have, found without memory; None where construction needs real tensors."""
    import torch

    from . import table

    construct = table.of(recipe).construct
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
    from assay_runner.subjects import stream, weights

    from . import table

    construct = table.of(recipe).construct
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
    from assay_runner.subjects import checkpoints, stream, weights

    from . import table

    around = table.of(recipe).around
    if around is None:
        raise BadRecipe(f"program {recipe['program']!r} cannot read weights from a folder: use random weights")
    files = checkpoints.files(folder, pickle)
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, "weights_only": True}
    options["use_safetensors"] = not checkpoints.is_pickled(files)
    if attention is not None:
        options["attn_implementation"] = attention
    cls = models.model_class(recipe)
    try:
        options["config"] = cls.config_class.from_pretrained(folder, local_files_only=True)
        _same_model(recipe, options["config"], folder)
        models.forbid_downloads(options["config"])
        with weights.fixed_generators(seed):
            model, info = cls.from_pretrained(folder, torch_dtype=dtype, output_loading_info=True, **options)
    except OSError as err:
        raise MissingWeights(f"cannot read weights from {folder}: {err}") from err
    missing, unused = (sorted(info.get(name, [])) for name in ("missing_keys", "unexpected_keys"))
    if not {name for name, _ in model.named_parameters()} - set(missing):
        raise MissingWeights(f"{folder} has none of the tensors of {cls.__name__}: its weights are for another model")
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
    asked, given = models.config(recipe).to_dict(), found.to_dict()
    for name in recipe.get("config", {}):
        ours, theirs = asked.get(name), given.get(name)
        if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
            raise BadRecipe(
                f"the weights in {folder} are for another model: their {name} is {theirs}, and {ours} was asked for; "
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

"""A model's parts as graphs of their own: what a product runs apart, at different times or on different devices.

The encoder of an encoder-decoder, the towers of a model that compares two things, the vision part and the projector of
one that sees, the prompt pass of a language model and its step with a cache, the networks of a pipeline. Each part is
exported with the inputs that it has when the whole model runs, and checked against its own outputs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import onnx_ir
import torch

from assay_runner.engines.torch import engine
from assay_runner.errors import BadRecipe
from assay_runner.exporting import comparison, steps, traces, writing
from assay_runner.exporting.quieting import quiet
from assay_runner.exporting.store import Store, key_of
from assay_runner.process import blame
from assay_runner.subjects.replacing import replaced

from .artefact import versions

MODALITIES = ("text", "image", "audio", "video")
_PROJECTORS = ("multi_modal_projector", "connector")
_NEW = ("input.", "output.")  # what the exporter puts before a name that is both


@dataclass(frozen=True)
class Part:
    """A module with the arguments that it is called with inside the model."""

    name: str
    module: torch.nn.Module
    inputs: Mapping[str, Any]


def answer(job: Mapping[str, Any], emit: Any) -> None:
    """Answers a ``parts`` job: exports every part of the recipe's model into one entry of the store."""
    cell = {**(job.get("cell") or {}), "platform": "cpu", "device": "", "engine": "torch", "dtype": "fp32"}
    session = engine.Session({**job, "cell": cell}, emit)
    point = session.points[0]
    facts = {"recipe": session.recipe, "cell": cell, "point": point, "versions": versions(), "parts": 1}
    store = Store(Path(job["options"]["exports"]))

    def make(folder: Path) -> dict[str, Any]:
        built = session.built()
        with torch.inference_mode(False), torch.no_grad(), emit.in_phase("convert"):
            rows = [_exported(part, folder) for part in found(built.model, session.inputs(point), session.recipe)]
        if not rows:
            raise BadRecipe(f"{session.recipe['class']} has no parts that run on their own: export it whole")
        return {**{name: session.recipe.get(name) for name in ("type", "size", "checkpoint")}, "parts": rows}

    with store.entry("parts", key_of(facts), make) as entry:
        emit.data({"key": entry.manifest["key"], "parts": entry.manifest["parts"]})


def found(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor], recipe: Mapping[str, Any]) -> list[Part]:
    """The parts of a model, each once."""
    call = recipe.get("call", {})
    if hasattr(model, "separate_parts"):
        return list(_networks(model, tensors, call))
    parts: dict[str, Part] = {}
    for part in (*_inside(model, tensors, call), *_towers(model, tensors), *_generation(model, tensors)):
        parts.setdefault(part.name, part)
    return list(parts.values())


def _inside(model: torch.nn.Module, tensors: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[Part]:
    """Encoders and projectors, with what they get while the whole model runs."""
    modules = {
        name: getattr(model, name) for name in _PROJECTORS if isinstance(getattr(model, name, None), torch.nn.Module)
    }
    base = getattr(model, "model", None)
    modules |= {n: getattr(base, n) for n in _PROJECTORS if isinstance(getattr(base, n, None), torch.nn.Module)}
    for name, modality in (("encoder", None), *((f"{m}_encoder", m) for m in MODALITIES)):
        encoder = _encoder(model, modality)
        if encoder is not None and encoder not in modules.values():
            modules[name] = encoder
    with _watched(modules) as seen:
        model(**tensors, **call)
    yield from (Part(name, modules[name], inputs) for name, inputs in seen.items())


def _networks(model: torch.nn.Module, tensors: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[Part]:
    """The networks of a pipeline, as it uses them: whole, or the halves of a codec."""
    modules = dict(model.named_children())
    halves = {
        f"{name}_{half}r": _Half(network, half)
        for name, network in modules.items()
        for half in ("encode", "decode")
        if callable(getattr(network, half, None))
    }
    with _watched(modules) as seen, ExitStack() as stack:
        for name, half in halves.items():
            stack.enter_context(half.watched(lambda given, name=name: seen.setdefault(name, given)))
        model(**tensors, **call)
    modules |= {name: half.module() for name, half in halves.items()}
    yield from (Part(name, modules[name], inputs) for name, inputs in seen.items())


@dataclass(frozen=True)
class _Half:
    """One way through a network that is used in two."""

    network: torch.nn.Module
    way: str

    def module(self) -> torch.nn.Module:
        return _under(self.network, getattr(self.network, self.way))

    @contextmanager
    def watched(self, see: Callable[[dict[str, Any]], object]) -> Iterator[None]:
        def told(way: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                see(_given(way, args, kwargs))
                return way(*args, **kwargs)

            return call

        with replaced(self.network, self.way, told):
            yield


def _encoder(model: torch.nn.Module, modality: str | None) -> torch.nn.Module | None:
    if modality is None and not getattr(model.config, "is_encoder_decoder", False):
        return None  # the whole of an encoder is not part of it
    try:
        encoder = model.get_encoder(modality=modality) if modality else model.get_encoder()
    except (AttributeError, TypeError, ValueError, NotImplementedError):  # other releases, or a model without one
        return None
    return encoder if isinstance(encoder, torch.nn.Module) and encoder is not model else None


@contextmanager
def _watched(modules: Mapping[str, torch.nn.Module]) -> Iterator[dict[str, dict[str, Any]]]:
    """Fills a table with the arguments of each module's first call."""
    seen: dict[str, dict[str, Any]] = {}

    def hook(name: str) -> Any:
        def see(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
            if name not in seen:
                seen[name] = _given(module.forward, args, kwargs)

        return see

    handles = [m.register_forward_pre_hook(hook(name), with_kwargs=True) for name, m in modules.items()]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _given(way: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, without what was left out and what no graph can hold. Outputs keep their
    names."""
    given = {**dict(zip(signature(way).parameters, args, strict=False)), **kwargs}
    given.pop("return_dict", None)
    return copy.deepcopy({k: v for k, v in given.items() if v is not None and not isinstance(v, torch.Generator)})


def _under(module: torch.nn.Module, forward: Callable[..., Any]) -> torch.nn.Module:
    """The same weights under another forward."""
    other = copy.copy(module)
    other.forward = forward
    return other


def _towers(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> Iterator[Part]:
    """The features of each side, for models that compare two."""
    ways = {m: getattr(model, f"get_{m}_features", None) for m in MODALITIES}
    ways = {m: way for m, way in ways.items() if way is not None}
    if len(ways) < 2:
        return
    for modality, way in ways.items():
        known = signature(way).parameters
        given = {name: t for name, t in tensors.items() if name in known}
        if given:
            yield Part(f"{modality}_tower", _under(model, way), given)


def _generation(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> Iterator[Part]:
    """The prompt pass and the step with a cache, as the library's own generation calls them."""
    if not (hasattr(model, "can_generate") and model.can_generate()):
        return
    from transformers.exporters import utils

    asked = {name: t for name, t in tensors.items() if not name.startswith("decoder_") and name != "labels"}
    config = copy.deepcopy(model.generation_config)
    if "decoder_input_ids" in tensors and config.decoder_start_token_id is None:
        config.decoder_start_token_id = int(tensors["decoder_input_ids"][0, 0])
    for name, (module, inputs) in utils.decompose_for_generation(model, asked, generation_config=config).items():
        if name == "language_model":  # it begins with an empty cache, which it makes itself
            inputs = {key: value for key, value in inputs.items() if key != "past_key_values"}
        yield Part(name, module, inputs)


def _exported(part: Part, folder: Path) -> dict[str, Any]:
    """Writes a part into its own folder. What fails is said, and the other parts go on."""
    from transformers.exporters import utils
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter

    row: dict[str, Any] = {"name": part.name, "class": type(part.module).__name__}
    try:
        feeds = utils.get_leaf_tensors(copy.deepcopy(dict(part.inputs)))
        expected = utils.get_leaf_tensors(part.module(**copy.deepcopy(dict(part.inputs))))
        with quiet():
            model = OnnxExporter().export(part.module, copy.deepcopy(dict(part.inputs)), OnnxConfig()).model
        row["steps"] = steps.apply(model)
        writing.write(model, folder / part.name)
        row |= _described(model, part.name)
        row["check"] = _check(folder / part.name / writing.FILE, feeds, expected)
        if "error" in row["check"]:
            row["failed"] = row["check"]["error"]
    except Exception as error:  # noqa: BLE001 - exporters raise anything
        if blamed := blame.blamed(error):
            raise blamed from error
        row["failed"] = traces.line(error)
    return row


def _described(model: onnx_ir.Model, name: str) -> dict[str, Any]:
    return {
        "file": f"{name}/{writing.FILE}",
        "opset": model.opset_imports[""],
        "inputs": writing.describe(model.graph.inputs),
        "outputs": writing.describe(model.graph.outputs),
        "operators": writing.operators(model),
    }


def _check(file: Path, feeds: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    given = {prefix + name: t for name, t in feeds.items() for prefix in ("", *_NEW)}
    return comparison.held(lambda: {_plain(n): t for n, t in comparison.ran(file, given).items()}, dict(expected))


def _plain(name: str) -> str:
    for prefix in _NEW:
        name = name.removeprefix(prefix)
    return name

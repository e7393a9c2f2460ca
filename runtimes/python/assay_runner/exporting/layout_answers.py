"""Lets a tracer follow what a model makes of its layout: grids of images, and where they stand in a text.

transformers computes these by loops over numbers, in functions of their own (`vision_utils`, `get_rope_index`). While a
model is traced they are answered by `grids`, in tensors, so that grids, masks and marks stay inputs of the graph.
How a model counts positions is found by its own answers for every sample there is; where no way to count gives them
all, its function stays, and what it needs has to be a constant. The others are the same for all models, and tests hold
them to the library's. Whatever is answered here, the graph must give the model's numbers on every sample.

Packed images do not see each other. The library splits attention by their lengths; a graph of fixed shapes has a mask
instead, laid over attention in the modules that are told the lengths.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from assay_runner.exporting import counting, grids, masks, resizing
from assay_runner.exporting.following import is_whole, known
from assay_runner.exporting.grids import Counting
from assay_runner.subjects.replacing import replaced

_SEGMENTS = "_assay_segments"  # on the lengths that a model is told: which segment each patch is in
_ROPE = "get_rope_index"
_GRID_AXES = 3  # time, height and width
_ATTENTION = "scaled_dot_product_attention"

Answer = Callable[[Any, inspect.BoundArguments], Any]
Way = Counting | counting.Inlaid | counting.Canvas


@dataclass
class Calls:
    """What the library's functions answered in an ordinary call, in order, by their names."""

    answers: dict[str, list[Any]] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    def keep(self, name: str, answer: Any) -> Any:
        """One more answer."""
        self.answers.setdefault(name, []).append(answer)
        return answer

    def next(self, name: str) -> Any:
        """The answer to the same call as this one; a tracer may go through a model several times."""
        given = self.answers[name]
        index = self.asked.get(name, 0) % len(given)
        self.asked[name] = index + 1
        return given[index]


def _position_ids(own: Any, given: inspect.BoundArguments) -> Any:
    count = own.shape[0]
    arguments = given.arguments
    temporal = arguments.get("include_temporal", False)
    return grids.position_ids(count, arguments["grid_thw"], arguments["spatial_merge_size"], temporal)


def _interpolation(own: Any, given: inspect.BoundArguments) -> Any:
    arguments = dict(given.arguments)
    grid, side = arguments.pop("grid_thw"), arguments.pop("num_grid_per_side")
    merge = arguments.pop("spatial_merge_size", 1)
    return grids.interpolation(own[0].shape[0], grid, side, merge=merge, **arguments)


def _nearest(own: Any, given: inspect.BoundArguments) -> Any:
    return grids.nearest_position_ids(
        own.shape[0], given.arguments["target_sizes"], given.arguments["num_patches_per_side"]
    )


def _lengths(own: Any, given: inspect.BoundArguments) -> Any:
    """One length over all, with the segments beside it."""
    count = int(own[-1])
    found = grids.patches(given.arguments["grid_thw"], count)
    whole = given.arguments.get("merge_temporal", False)
    return _marked(own, count, found.image if whole else found.start)


def _attention_lengths(own: Any, given: inspect.BoundArguments) -> Any:
    return _lengths(own[0], given), own[1]


def _windows(own: Any, given: inspect.BoundArguments) -> Any:
    arguments = given.arguments
    merge, blocks = arguments["spatial_merge_size"], own[0].shape[0]
    order, window = grids.windows(
        blocks, arguments["grid_thw"], merge, arguments["window_size"], arguments["patch_size"]
    )
    patches = window[:, None].expand(blocks, merge * merge).reshape(-1)
    return order, _marked(own[1], blocks * merge * merge, patches)


def _marked(own: torch.Tensor, count: int, segments: torch.Tensor) -> torch.Tensor:
    lengths = torch.tensor([0, count], dtype=own.dtype)
    setattr(lengths, _SEGMENTS, segments)
    return lengths


FUNCTIONS: Mapping[str, Answer] = {
    "get_vision_position_ids": _position_ids,
    "get_vision_interpolation_indices_and_weights": _interpolation,
    "get_vision_nearest_position_ids": _nearest,
    "get_vision_cu_seqlens": _lengths,
    "get_vision_attention_seqlens": _attention_lengths,
    "get_vision_window_index": _windows,
}
"""Functions of transformers.vision_utils → their answer in tensors, of what they answered in an ordinary call."""


def _frames(own: Any, given: inspect.BoundArguments) -> Any:
    return grids.frame_index(own.shape[0], given.arguments["grid_thw"])


def _merged(own: Any, given: inspect.BoundArguments) -> Any:
    return grids.merged_frames(*own.shape[:2], *given.arguments.values())


def _blocks(own: Any, given: inspect.BoundArguments) -> Any:
    return grids.blocks(own.shape[0], *given.arguments.values())


OWN: Mapping[str, Answer] = {
    "get_vision_frame_index": _frames,
    "get_vision_temporal_merge_index": _merged,
    "get_vision_pixel_shuffle_index": _blocks,
}
"""The same of functions that models define beside themselves."""


def _resized(method: Any, own: Any, given: inspect.BoundArguments) -> Any:
    table, sizes, _ = given.arguments.values()
    if sizes.shape[-1] == _GRID_AXES:
        return resizing.packed(table, own.shape[0], sizes, given.arguments["spatial_merge_size"])
    return resizing.padded(table, own.shape[1], sizes)


def _packed(method: Any, own: Any, given: inspect.BoundArguments) -> Any:
    pixels, sizes = given.arguments.values()
    part = method.__self__
    table = part.position_embedding.reshape(part.max_rows, part.max_cols, -1)
    places = resizing.cropped(table, pixels.shape[0], sizes).to(table.dtype)
    return resizing.behind_prefixes(part.patch_projection(pixels) + places, part.cls_register_token, sizes)[None]


def _shuffled(method: Any, own: Any, given: inspect.BoundArguments) -> Any:
    """The same with whole numbers alone: a share of a size that is traced cannot be rounded. Methods of this name that
    are told no share, or no height and width, stay."""
    given.apply_defaults()
    states, *told = given.arguments.values()
    share = next((value for value in told if isinstance(value, float)), 1)
    times = round(1 / share)
    if states.dim() != 4 or len(told) != 1 or times < 2:
        return method(*given.args, **given.kwargs)
    images, height, width, channels = states.shape
    states = states.reshape(images, height, width // times, channels * times).transpose(1, 2)
    states = states.reshape(images, width // times, height // times, channels * times * times)
    return states.transpose(1, 2)


def _embedded(method: Any, own: Any, given: inspect.BoundArguments) -> Any:
    """The same with every patch: the mask, which attention is told, hides what the model leaves out. Where it has room
    for fewer patches than a frame has, it draws which, and its method stays."""
    pixels, mask, *_ = given.arguments.values()
    part = method.__self__
    patches = part.patch_embeddings(pixels)
    images, channels, rows, columns = patches.shape
    if own[1].shape[1] != 1 + rows * columns:
        return method(*given.args, **given.kwargs)
    seen = torch.nn.functional.interpolate(mask[:, None].float(), size=(rows, columns))[:, 0].long()
    first, table = part.position_embeddings[:, :1], part.position_embeddings[0, 1:]
    side = part.config.image_size // part.config.patch_size
    places = resizing.framed(table.reshape(side, side, channels), seen)
    states = patches.flatten(2).transpose(1, 2) + places
    states = torch.cat([(part.cls_token + first).expand(images, -1, -1), states], dim=1)
    index = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).expand(images, -1, -1)
    told = torch.cat([torch.ones_like(seen[:, 0, :1]), seen.flatten(1)], dim=1)
    return part.dropout(states), told, (index, (rows, columns))


def _paired(method: Any, own: Any, given: inspect.BoundArguments) -> Any:
    states, grid = given.arguments.values()
    pair = grids.frame_pairs(own.shape[0], grid, method.__self__.spatial_merge_size)
    return torch.cat([states.index_select(0, index) for index in pair], dim=-1)


def _masked(method: Any, own: Any, given: inspect.BoundArguments) -> Any:
    mask = given.arguments["decoder_attention_mask"]
    return masks.undecided(lambda: method(*given.args, **given.kwargs), mask)


METHODS: Mapping[str, Callable[[Any, Any, inspect.BoundArguments], Any]] = {
    "resize_positional_embeddings": _resized,
    "_embed_packed_patches": _packed,
    "pixel_shuffle": _shuffled,
    "visual_embed": _embedded,
    "_temporal_slicing": _paired,
    "create_diffusion_decoder_attention_mask": _masked,
}
"""The same of methods of a model's parts, which are given too: they have the weights."""


class Layouts:
    """What a model asks of its layout, and how that is answered while it is traced."""

    def __init__(self, model: torch.nn.Module, run: Callable[[Mapping[str, torch.Tensor]], Any]) -> None:
        self._model, self._run = model, run
        self._modules = {sys.modules[type(module).__module__] for module in model.modules()}
        self._ropes = [module for module in model.modules() if callable(getattr(type(module), _ROPE, None))]
        self._calls = Calls()
        self._counting: Way | None = None

    @property
    def any(self) -> bool:
        """Whether the model has such functions at all."""
        return bool(self._ropes) or any(self._functions())

    def _functions(self) -> Iterator[tuple[Any, str]]:
        library = sys.modules.get("transformers.vision_utils")
        for module, name in product(self._modules, FUNCTIONS if library else ()):
            if getattr(module, name, None) is getattr(library, name, None) is not None:
                yield module, name
        for module, name in product(self._modules, OWN):
            if callable(getattr(module, name, None)):
                yield module, name
        for module, name in product(self._model.modules(), METHODS):
            if callable(getattr(type(module), name, None)):
                yield module, name

    def listen(self, samples: Sequence[Mapping[str, torch.Tensor]]) -> None:
        """Runs the model and keeps what it was answered for the first sample. All say how positions are counted."""
        self._calls = self._heard(samples[0])
        heard = self._calls.answers.get(_ROPE, [])
        for given in samples[1:] if heard else ():
            heard = heard + self._heard(given).answers.get(_ROPE, [])
        self._counting = _counting(heard, [getattr(module, "config", None) for module in self._ropes])

    def _heard(self, given: Mapping[str, torch.Tensor]) -> Calls:
        calls = Calls()
        with ExitStack() as stack:
            for module, name in self._functions():
                stack.enter_context(replaced(module, name, lambda own, name=name: _kept(calls, name, own)))
            for module in self._ropes:
                stack.enter_context(replaced(module, _ROPE, lambda own: _kept(calls, _ROPE, own, whole=True)))
            self._run(given)
        return calls

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Inside, the functions answer tensors with tensors, if their arguments are traced."""
        if not self._calls.answers:
            yield
            return
        self._calls.asked.clear()
        segments = _Segments()
        with ExitStack() as stack:
            for module, name in self._functions():
                stack.enter_context(replaced(module, name, lambda own, name=name: self._answering(name, own)))
            if self._counting:
                for module in self._ropes:
                    stack.enter_context(replaced(module, _ROPE, self._rope))
            for module in self._model.modules():
                stack.enter_context(segments.watching(module))
            stack.enter_context(segments)
            yield

    def _answering(self, name: str, own: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(own)

        def answer(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.arguments.pop("kwargs", None)
            if not any(map(_traced, _layout(name, given))):
                return own(*args, **kwargs)
            heard = self._calls.next(name)
            return METHODS[name](own, heard, given) if name in METHODS else {**FUNCTIONS, **OWN}[name](heard, given)

        return answer

    def _rope(self, own: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(own)

        def answer(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            tensors = [value for value in given.values() if isinstance(value, torch.Tensor)]
            if all(map(known, tensors)):
                return own(*args, **kwargs)
            return _positions(self._counting, given)

        return answer


def _layout(name: str, given: inspect.BoundArguments) -> list[Any]:
    """What a call is told of a layout: the first argument of a function, of a method whole numbers and sizes."""
    tensors = [value for value in given.arguments.values() if isinstance(value, torch.Tensor)]
    sized = [size for tensor in tensors for size in tensor.shape]
    return tensors[:1] if name not in METHODS else [*filter(is_whole, tensors), *sized]


def _traced(part: Any) -> bool:
    return not known(part) if isinstance(part, torch.Tensor) else isinstance(part, torch.SymInt)


def _kept(calls: Calls, name: str, own: Callable[..., Any], whole: bool = False) -> Callable[..., Any]:
    signature = inspect.signature(own)

    def answer(*args: Any, **kwargs: Any) -> Any:
        found = own(*args, **kwargs)
        calls.keep(name, (signature.bind(*args, **kwargs).arguments, found) if whole else found)
        return found

    return answer


def _counting(heard: Sequence[tuple[Mapping[str, Any], Any]], configs: Sequence[Any]) -> Way | None:
    """The way to count that gives every answer that was heard; None where none does."""
    usual = (Counting(frames, padding, merge) for frames, padding, merge in product((False, True), (0, 1), (1, 2, 4)))
    axes = heard[0][1][0].shape[0] if heard else 0
    others = (way for config in configs for way in counting.ways(config, axes))
    return next((how for how in chain(usual, others) if heard and all(_agrees(how, *row) for row in heard)), None)


def _agrees(how: Way, given: Mapping[str, Any], answer: Any) -> bool:
    try:
        found = _positions(how, given)
    except (KeyError, RuntimeError, IndexError):
        return False
    return all(a.shape == b.shape and bool((a == b).all()) for a, b in zip(found, answer, strict=True))


_MARKS = {1: "image_grid_thw", 2: "video_grid_thw"}


def _positions(how: Way, given: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """As `get_rope_index`: the positions, and by how much they end beyond the tokens."""
    seen = counting.visible(given)
    if isinstance(how, Counting):
        found = {mark: given[name] for mark, name in _MARKS.items() if given.get(name) is not None}
        positions = grids.rope_index(how, given["mm_token_type_ids"], seen, found)
    else:
        positions = how.positions(given)
    hidden = torch.where(seen, positions, torch.full_like(positions, -1))
    return positions, (hidden.amax((0, 2)) + 1 - seen.to(torch.int64).sum(1))[:, None]


class _Segments(TorchFunctionMode):
    """Lays a mask over attention inside modules that are told lengths with segments."""

    def __init__(self) -> None:
        super().__init__()
        self._now: list[torch.Tensor | None] = []

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        segments = self._now[-1] if self._now else None
        if segments is not None and getattr(func, "__name__", "") == _ATTENTION:  # exporters put others in its place
            query, key, value, *rest = args
            given = rest[0] if rest else kwargs.get("attn_mask")
            if given is None and query.shape[-2] == key.shape[-2] == segments.shape[0]:
                kwargs = {**kwargs, "attn_mask": grids.same_segment(segments)}
                args = (query, key, value)
                kwargs |= dict(zip(("dropout_p", "is_causal"), rest[1:], strict=False))
        return func(*args, **kwargs)

    @contextmanager
    def watching(self, module: torch.nn.Module) -> Iterator[None]:
        """Inside, a call of the module that names lengths is known here."""

        def before(_: Any, args: tuple, kwargs: dict[str, Any]) -> None:
            told = (getattr(value, _SEGMENTS, None) for value in (*args, *kwargs.values()))
            self._now.append(next((value for value in told if value is not None), None))

        def after(*_: Any) -> None:
            self._now.pop()

        hooks = (
            module.register_forward_pre_hook(before, with_kwargs=True),
            module.register_forward_hook(after, always_call=True),
        )
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

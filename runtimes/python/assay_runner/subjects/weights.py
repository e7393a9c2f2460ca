"""Random weights with the same bits on every machine, and real ones from disk.

`drawn` constructs a model while `initialisation.Recorder` notes what would have
been drawn at random, then fills every noted parameter and buffer from a stream
keyed by seed and tensor name, with the moments that the model's own
initialisation asked for (the deviation times the recipe's gain). What
initialisation sets for structure (norms, decay rates, tables) stays; what it
leaves blank though training does not (`blanks`) is drawn too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from assay_runner.subjects import stream
from assay_runner.subjects.blanks import UNWRITTEN, blank
from assay_runner.subjects.initialisation import Pending, Recorder, Region, recording, storage_key

Draws = list[tuple[tuple[int, ...], str, str]]
"""Shape, mean and deviation of each draw into a tensor; the moments to six digits."""


@dataclass(frozen=True)
class Drawn:
    """A model with drawn weights, and what was drawn by name: shape and moments of each draw, none where derived."""

    model: torch.nn.Module
    draws: dict[str, Draws]


def drawn(
    construct: Callable[[], torch.nn.Module],
    seed: int,
    gain: float = 1.0,
    threads: int = 1,
    allowance: int | None = None,
    only: Collection[str] | None = None,
) -> Drawn:
    """Constructs a model with weights drawn for a seed. Torch's global generator does not matter.

    With `only` just these tensors of its state are drawn; the others hold nothing, and their memory is never touched.
    """
    pen = _Pen(seed, gain, threads)
    recorder = Recorder(pen.fill_now, allowance)
    with fixed_generators(seed), recording(recorder):
        model = construct()
    with torch.no_grad():
        return Drawn(model, dict(pen.finish(model, recorder, only)))


def fill_gaps(
    model: torch.nn.Module,
    construct: Callable[[], torch.nn.Module],
    names: Collection[str],
    seed: int,
    threads: int = 1,
) -> dict[str, Draws]:
    """Gives these tensors of a model's state the values that a drawn model has there. Returns what was drawn."""
    fresh = drawn(construct, seed, threads=threads, only=names)
    source, target = fresh.model.state_dict(), model.state_dict()
    with torch.no_grad():
        for name in names:
            if name in source and name in target:
                target[name].copy_(source[name])
    return fresh.draws


@contextmanager
def fixed_generators(seed: int) -> Iterator[None]:
    """For what construction draws by other means: whole numbers, permutations, numpy, random."""
    python, legacy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)
        torch.set_rng_state(cpu)


class _Pen:
    """Writes the streams of one seed into tensors."""

    def __init__(self, seed: int, gain: float, threads: int) -> None:
        self._seed, self._gain, self._threads = seed, gain, threads

    def fill_now(self, pending: Pending, key: str) -> None:
        """Carries out what waits for one storage."""
        fills, after = self._plan(pending, key)
        stream.draw(fills, self._threads)
        for step in after:
            step()

    def finish(
        self, model: torch.nn.Module, recorder: Recorder, only: Collection[str] | None
    ) -> Iterator[tuple[str, Draws]]:
        """Fills everything that is left, all tensors in one go, and yields what was drawn of the model's tensors."""
        fills: list[stream.Fill] = []
        after: list[Callable[[], object]] = []
        derived = dict(recorder.derived)
        waiting = dict(recorder.pending)
        wanted = None if only is None else {storage_key(t) for name, t in model.state_dict().items() if name in only}
        inside = getattr(model, "weights_inside", "")  # a model's weights do not depend on what is done with it
        for full, tensor in named_tensors(model):
            name, key = full.removeprefix(inside), storage_key(tensor)
            if wanted is not None and key not in wanted:
                waiting.pop(key, None)
            elif key in waiting:
                pending = waiting.pop(key)
                planned = self._plan(pending, name)
                fills += planned[0]
                after += planned[1]
                yield name, self._told(pending)
            elif key in derived:
                if derived.pop(key):
                    fills += self._moments(name, tensor)
                yield name, [(tuple(tensor.shape), "", "")]
            elif key in recorder.fresh and not isinstance(tensor, torch.nn.Parameter):
                tensor.zero_()
            elif (draw := UNWRITTEN if key in recorder.fresh else blank(name, tensor)) is not None:
                scaled = draw.scaled(self._gain)
                fills.append(self._fill(tensor, name, scaled))
                yield name, [_told(tensor.shape, scaled)]
        for i, pending in enumerate(waiting.values()):  # tensors that are plain attributes of a module
            if not pending.ref.expired():
                planned = self._plan(pending, f"#left/{i}")
                fills += planned[0]
                after += planned[1]
        stream.draw(fills, self._threads)
        for step in after:
            step()

    def _plan(self, pending: Pending, key: str) -> tuple[list[stream.Fill], list[Callable[[], object]]]:
        storage = torch.UntypedStorage._new_with_weak_ptr(pending.ref.cdata)
        fills, after = [], []
        for i, step in enumerate(pending.steps):
            if not isinstance(step, tuple):
                after.append(step)
                continue
            region, draw = step
            target = region.on(storage)
            if target.is_contiguous():
                fills.append(self._fill(target, f"{key}/{i}" if i else key, draw.scaled(self._gain)))
            else:
                after.append(self._scattered(target, f"{key}/{i}", draw.scaled(self._gain)))
        return fills, after

    def _told(self, pending: Pending) -> Draws:
        draws = [(step[0].shape, step[1].scaled(self._gain)) for step in pending.steps if isinstance(step, tuple)]
        return [_told(shape, draw) for shape, draw in draws]

    def _fill(self, target: torch.Tensor, key: str, draw: stream.Draw) -> stream.Fill:
        return stream.Fill(flat(target), f"{self._seed}/{key}", draw)

    def _scattered(self, target: torch.Tensor, key: str, draw: stream.Draw) -> Callable[[], object]:
        def write() -> None:
            block = torch.empty(target.shape, dtype=target.dtype)
            stream.draw([self._fill(block, key, draw)], self._threads)
            target.copy_(block)

        return write

    def _moments(self, name: str, tensor: torch.Tensor) -> list[stream.Fill]:
        """Draws a derived tensor again: moments to three digits hide what differs between CPUs."""
        values = tensor.detach().double().numpy()
        mean, std = (float(f"{x:.3g}") for x in (values.mean(), values.std()))
        target = Region.of(tensor).on(tensor.untyped_storage())
        draw = stream.Draw(mean, std)
        if target.is_contiguous():
            return [self._fill(target, name, draw)]
        self._scattered(target, name, draw)()
        return []


def _told(shape: tuple[int, ...], draw: stream.Draw) -> tuple[tuple[int, ...], str, str]:
    return tuple(shape), f"{draw.mean:.6g}", f"{draw.std:.6g}"


def named_tensors(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters, then buffers, each tensor once under its first name."""
    yield from model.named_parameters()
    yield from model.named_buffers()


def flat(t: torch.Tensor) -> np.ndarray:
    """The memory of a contiguous CPU tensor as a flat array; bfloat16 as 16-bit words."""
    t = t.detach().view(-1)
    return t.view(torch.int16).numpy().view(np.uint16) if t.dtype is torch.bfloat16 else t.numpy()

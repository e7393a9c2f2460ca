"""Records what a model's own initialisation draws at random, instead of drawing it.

A model is constructed under `Recorder`, a dispatch mode that sees every torch
operation. Random ones are not run: the storage they would have filled is noted
as *pending*, with the moments that were asked for. What construction does to a
pending storage afterwards is followed:

- a further whole draw, fill or copy replaces what was pending;
- scaling or shifting by a number changes the moments, in place or not;
- any other write (zeroing the padding row, clamping) is put off and repeated
  after the fill;
- a read (an orthogonal basis, a weight norm) forces the storage to be filled
  there and then, under a key made of the order of such reads.

What is computed from forced storages is *drawn* when the operation only moves
data, so that its bits are the same everywhere, and *derived* when it computes
(a norm, a logarithm: their last bits differ between CPUs). Derived tensors of
the finished model are drawn again with their own moments, rounded.

A storage that was allocated and never written to is *fresh*: it holds whatever the
memory held before, so a parameter that ends so has no initialisation at all.

Storages are known by address. A weak reference to each keeps the address from
being reused without keeping the memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from assay_runner.errors import TooLarge
from assay_runner.subjects import operators
from assay_runner.subjects.dispatching import Mode
from assay_runner.subjects.operators import aten
from assay_runner.subjects.replacing import replaced
from assay_runner.subjects.stream import Draw


@dataclass(frozen=True)
class Region:
    """A view of a storage, without holding it."""

    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype

    @staticmethod
    def of(t: torch.Tensor) -> Region:
        """The region that a tensor is."""
        return Region(t.storage_offset(), tuple(t.shape), tuple(t.stride()), t.dtype)

    def on(self, storage: torch.UntypedStorage) -> torch.Tensor:
        """The tensor that a region of this storage is."""
        return torch.empty(0, dtype=self.dtype).set_(storage, self.offset, self.shape, self.stride)


@dataclass
class Pending:
    """What waits to be done to one storage, in order: regions to draw and calls to repeat."""

    ref: StorageWeakRef
    steps: list[tuple[Region, Draw] | Callable[[], Any]] = field(default_factory=list)

    def whole(self, numel: int) -> Draw | None:
        """The draw, where there is just one and it is of that many numbers."""
        step = self.steps[0]
        if len(self.steps) > 1 or not isinstance(step, tuple) or math.prod(step[0].shape) != numel:
            return None
        return step[1]


@dataclass(frozen=True)
class _Shape:
    """What an operation's schema says about its arguments."""

    writes: frozenset[int]
    view: bool


@cache
def _schema(func: Any) -> _Shape:
    arguments = func._schema.arguments
    writes = frozenset(i for i, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write)
    view = not writes and any(r.alias_info is not None for r in func._schema.returns)
    return _Shape(writes, view)


def storage_key(t: torch.Tensor) -> int:
    """The address that tensors sharing memory have in common."""
    return t.untyped_storage()._cdata


def covers(t: torch.Tensor) -> bool:
    """Whether a tensor is all of its storage."""
    return t.numel() * t.element_size() == t.untyped_storage().nbytes()


class Recorder(Mode):
    """See the module's comment. `fill` draws the steps of one storage under a key."""

    def __init__(self, fill: Callable[[Pending, str], None], allowance_bytes: int | None = None) -> None:
        super().__init__()
        self.pending: dict[int, Pending] = {}
        self.derived: dict[int, bool] = {}  # storages made of drawn numbers; whether any computing was done
        self.fresh: dict[int, StorageWeakRef] = {}  # storages that nothing was written to yet
        self._refs: list[StorageWeakRef] = []
        self._fill = fill
        self._forced = 0
        self._allowance = allowance_bytes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = func.overloadpacket
        if packet in operators.ALLOCATIONS:
            self._admit(args)
        if packet in operators.IN_PLACE and args[0].is_floating_point() and args[0].device.type == "cpu":
            return self._note(args[0], operators.IN_PLACE[packet](*args[1:], **_moments(kwargs)))
        if packet in operators.FACTORIES and len(args) == 1 and isinstance(args[0], (list, tuple)):
            kwargs.pop("generator", None)
            return self._note(aten.empty.memory_format(*args, **kwargs), operators.FACTORIES[packet]())
        if packet in operators.LIKE:
            return self._note(aten.empty_like.default(*args, **kwargs), operators.LIKE[packet]())
        if packet in operators.BARE:
            return self._allocated(func(*args, **kwargs))
        if self.fresh:
            for i in _schema(func).writes:
                if i < len(args) and isinstance(args[i], torch.Tensor):
                    self.fresh.pop(storage_key(args[i]), None)
        if not (self.pending or self.derived):
            return func(*args, **kwargs)
        return self._follow(func, packet, args, kwargs)

    def _allocated(self, t: torch.Tensor) -> torch.Tensor:
        if t.device.type == "cpu" and t.is_floating_point():
            self.fresh[storage_key(t)] = StorageWeakRef(t.untyped_storage())
        return t

    def note(self, t: torch.Tensor, draw: Draw) -> torch.Tensor:
        """Notes a draw from outside of dispatch."""
        return self._note(t, draw)

    def _note(self, t: torch.Tensor, draw: Draw) -> torch.Tensor:
        if t.device.type != "cpu" or t.numel() == 0:
            return t
        key, step = storage_key(t), (Region.of(t), draw)
        self.fresh.pop(key, None)
        if covers(t):
            self.derived.pop(key, None)
            self.pending.pop(key, None)
        if key not in self.pending:
            self.pending[key] = Pending(StorageWeakRef(t.untyped_storage()))
        self.pending[key].steps.append(step)
        return t

    def _follow(self, func: Any, packet: Any, args: Any, kwargs: Any) -> Any:
        shape = _schema(func)
        if shape.view or packet in operators.BLIND:
            return func(*args, **kwargs)
        scaled = None if kwargs else self._scaled(packet, args)
        if scaled is not None:
            return scaled
        written = [args[i] for i in shape.writes if i < len(args) and isinstance(args[i], torch.Tensor)]
        read = [t for i, a in enumerate(args) if i not in shape.writes for t in _tensors(a)]
        read += [t for a in kwargs.values() for t in _tensors(a)]
        computed = self._force(read)
        for t in written:
            key = storage_key(t)
            if packet in operators.OVERWRITES and covers(t):
                self.pending.pop(key, None)
                self.derived.pop(key, None)
            elif key in self.pending:
                self.pending[key].steps.append(lambda: func(*args, **kwargs))
                return t
        out = func(*args, **kwargs)
        if computed is not None:
            for t in [*written, *_tensors(out)]:
                self._taint(t, computed or packet not in operators.MOVES)
        return out

    def _scaled(self, packet: Any, args: Any) -> torch.Tensor | None:
        """Follows a pending storage through arithmetic with a number and through copies."""
        rule = operators.SCALED.get(operators.SCALED_IN_PLACE.get(packet, packet))
        if rule and len(args) == 2 and isinstance(args[0], torch.Tensor):
            number, source = self._number(args[1]), args[0]
            draw = self._whole(source)
            if draw is None or number is None or (packet in (aten.div, aten.div_) and number == 0):
                return None
            target = source if packet in operators.SCALED_IN_PLACE else torch.empty_like(source)
            return self._note(target, rule(draw, number))
        if packet is aten.copy_ and args[0].shape == args[1].shape and covers(args[0]):
            draw = self._whole(args[1])
            return None if draw is None else self._note(args[0], draw)
        return None

    def _number(self, x: Any) -> float | None:
        if not isinstance(x, torch.Tensor):
            return float(x) if isinstance(x, (int, float)) else None
        key = storage_key(x)
        known = x.dim() == 0 and x.device.type == "cpu" and key not in self.pending and key not in self.derived
        return float(x) if known else None

    def _whole(self, t: torch.Tensor) -> Draw | None:
        pending = self.pending.get(storage_key(t))
        return pending.whole(t.numel()) if pending and covers(t) else None

    def _force(self, tensors: list[torch.Tensor]) -> bool | None:
        """Fills what is pending among these. None: nothing drawn among them; else whether any is derived."""
        computed = None
        for t in tensors:
            key = storage_key(t)
            if key in self.pending:
                self._fill(self.pending.pop(key), f"#{self._forced}")
                self._forced += 1
                self._taint(t, False)
            if key in self.derived:
                computed = bool(computed) or self.derived[key]
        return computed

    def _taint(self, t: torch.Tensor, computed: bool) -> None:
        if not t.is_floating_point() or t.device.type != "cpu":
            return
        key = storage_key(t)
        if key not in self.derived:
            self._refs.append(StorageWeakRef(t.untyped_storage()))
        self.derived[key] = self.derived.get(key, False) or computed

    def _admit(self, args: Any) -> None:
        if self._allowance is None or not args or not isinstance(args[0], (list, tuple)):
            return
        self._allowance -= math.prod(args[0]) * 2
        if self._allowance < 0:
            raise TooLarge("the model's configuration asks for more memory than this machine has")


def _moments(kwargs: dict[str, Any]) -> dict[str, Any]:
    names = {"from": "low", "to": "high", "lambd": "rate"}
    return {names.get(k, k): v for k, v in kwargs.items() if k != "generator"}


def _tensors(a: Any) -> list[torch.Tensor]:
    if isinstance(a, torch.Tensor):
        return [a]
    return [t for t in a if isinstance(t, torch.Tensor)] if isinstance(a, (list, tuple)) else []


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Constructs under the recorder. Truncated normals are noted where torch samples them by rejection,
    which would read (and so force) every tensor."""

    def noted(tensor: torch.Tensor, mean: float, std: float, a: float, b: float, generator: Any = None) -> torch.Tensor:
        return recorder.note(tensor, operators.truncated(mean, std, a, b))

    with replaced(torch.nn.init, "_no_grad_trunc_normal_", lambda own: noted), recorder:
        yield recorder

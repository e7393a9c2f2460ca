"""Laws about the rows of a batch and their lengths: padding, and the batch itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from assay_runner.checking.laws import causal, stretches
from assay_runner.checking.laws.case import Case
from assay_runner.checking.laws.law import Pair
from assay_runner.checking.laws.stretches import Stretch
from assay_runner.subjects.outputs import Tensors

RANDOM = "it draws numbers while it runs, others for each row"
AFTER, BEFORE, HIDDEN = "padded at the end", "padded at the start", "other numbers where the mask is zero"


def by_rows(case: Case) -> str:
    """Why the batch law says nothing of a model."""
    return RANDOM if case.draws else ""


def batch(case: Case) -> Iterator[Pair]:
    """Both rows in a batch, and each alone."""
    for index in (0, 1):
        given = case.of_row(case.together, index)
        expected = {name: t for name, t in case.alone(index).items() if name in given}
        found = {name: _as_long(given[name], t, case.alone(1 - index).get(name)) for name, t in expected.items()}
        again = _again(case, case.row(index), expected)
        yield Pair(f"row {index + 1} of two", found, expected, case.two, again)


def _as_long(t: torch.Tensor, like: torch.Tensor, other: torch.Tensor | None) -> torch.Tensor:
    """A row of which a model finds as many things as there are, filled up to as many as the other row has of them."""
    if other is None or other.dim() != t.dim() or like.dim() != t.dim():
        return t
    for axis in range(t.dim()):
        if like.shape[axis] < t.shape[axis] == other.shape[axis]:
            t = t.narrow(axis, 0, like.shape[axis])
    return t


def maskable(case: Case) -> str:
    """Why the padding law says nothing of a model."""
    if not case.stretches:
        return "no input is a sequence with a mask"
    if "decoder_input_ids" in case.one and not getattr(case.config, "is_encoder_decoder", False):
        return "its decoder is no decoder of the library's kind, and has masks of its own kind"
    return RANDOM if case.draws else ""


def padding(case: Case) -> Iterator[Pair]:
    """A row alone, and padded beside a longer one; of sounds and images, what a mask hides."""
    words = cuttable(case)
    if words and not _shortens(case, words):
        words = []
    if words:
        yield _padded(case, words, after=True)
        if _read_backwards(case):
            yield _padded(case, words, after=False)
    placed = any(spec.get("place") for spec in case.recipe["inputs"])  # tokens for all that there is, hidden or not
    if not placed and not _over_time(case.model):
        for one in (one for one in case.stretches if one not in words):
            yield from _hidden(case, one)


def _read_backwards(case: Case) -> bool:
    """Whether words may have padding before them: those of a causal model, which padding at the end never touches, and
    which keep their positions behind it. A part that does not generate may count in its own way, and is tried where
    only distances matter."""
    if case.encodes:
        return False
    if not causal.generates(case):
        return causal.is_declared(case) and _turns(case)
    return not _tables(case) or bool(positions(case, case.two))


def _tables(case: Case) -> bool:
    """Whether there is a table of positions of words."""
    named = ((name, m) for name, m in case.model.named_modules() if not causal.TOWER.search(name))
    tables = (m for name, m in named if "position" in name.rpartition(".")[2])
    return any(isinstance(m, torch.nn.Embedding) for m in tables)


def _turns(case: Case) -> bool:
    """Whether only the distance of words matters, as where they are turned by their positions."""
    named = ((name, m) for name, m in case.model.named_modules() if not causal.TOWER.search(name))
    return not _tables(case) and any("rotary" in type(m).__name__.lower() for _, m in named)


def _over_time(model: torch.nn.Module) -> bool:
    """Whether a model normalises over all of a sound, padding included: such models are given no mask."""
    return any(isinstance(m, torch.nn.GroupNorm) for m in model.modules())


def _shortens(case: Case, words: list[Stretch]) -> bool:
    """Whether the model takes a shorter row."""
    try:
        case.once("short", lambda: stretches.cut(case.row(0), words))
    except Exception:  # noqa: BLE001 - whatever it is, its lengths are fixed
        return False
    return True


def cuttable(case: Case) -> list[Stretch]:
    """The sequences that can be made shorter."""
    return [one for one in case.stretches if not one.material and one.count]


def beside(case: Case, words: list[Stretch], after: bool) -> Tensors:
    """Two rows, the first of them padded."""
    made = stretches.padded(case.two, words, 0, after)
    return made if after else made | positions(case, made)


def positions(case: Case, made: Tensors) -> Tensors:
    """The positions that the library's own generation gives words that are padded at their start. Where only distances
    matter, padding is counted: from positions that begin again the library would guess what the mask says, and a mask
    that is ignored would not be missed."""
    if "position_ids" not in case.parameters or set(made) != {"input_ids", "attention_mask"}:
        return {}
    mask = made["attention_mask"]
    counted = torch.ones_like(mask) if _turns(case) else mask
    return {"position_ids": (counted.cumsum(-1) - 1).clamp(min=0)}


def _at_the_same(case: Case, short: Tensors, made: Tensors) -> Tensors:
    """The short row with the positions that it has behind padding, where these are not its own."""
    given = made.get("position_ids")
    kept = short["attention_mask"].shape[1] if given is not None else 0
    if given is None or int(given[0, -kept]) == 0:
        return short
    return {**short, "position_ids": given[:1, -kept:]}


def _padded(case: Case, words: list[Stretch], after: bool) -> Pair:
    made = beside(case, words, after)
    cut = stretches.cut(case.row(0), words)
    short = _at_the_same(case, cut, made)
    alone = case.once("short" if short is cut else "short, further on", lambda: short)
    given = case.of_row(case.once(AFTER if after else BEFORE, lambda: made), 0)
    found, expected = stretches.shorter(given, alone, words, after)
    return Pair(AFTER if after else BEFORE, found, expected, made, _again(case, short, expected))


def _hidden(case: Case, one: Stretch) -> Iterator[Pair]:
    """Half is hidden, of which the half that no visible position is near has other numbers."""
    half, quarter = one.length // 2, one.length // 4
    if not quarter or one.room < half:
        return
    made = {name: t.clone() for name, t in case.row(0).items()}
    made[one.mask][:, one.length - half :] = 0
    other = {name: t.clone() for name, t in made.items()}
    for name, axis in one.along.items():
        if case.spec(name)["kind"] in ("float", "ids"):
            t = other[name].narrow(axis, one.length - quarter, quarter)
            t.copy_(t.flip(axis) if name == one.ids or not t.is_floating_point() else -t)
    texts = (name for name in case.one if case.spec(name)["kind"] == "ids" and name not in one.along)
    lengths = {case.one[name].shape[-1] for name in texts}

    def run(tensors: Tensors) -> Tensors:
        return stretches.visible(case.run(tensors), made[one.mask], lengths)

    try:
        expected = run(made)
    except Exception:  # noqa: BLE001 - whatever it is, such a model takes no such mask
        return
    yield Pair(f"{HIDDEN}: {one.mask}", run(other), expected, other, lambda: run(made))


def _again(case: Case, tensors: Tensors, like: Tensors) -> Callable[[], Tensors]:
    def run() -> Tensors:
        return {name: t for name, t in case.run(tensors).items() if name in like}

    return run

"""Which operators a forward needs: names, dtypes, counts and the shapes they are called with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .trace import Call

MOST_ROWS = 400
MOST_SHAPES = 5

Shapes = tuple[tuple[int, ...], ...]


@dataclass
class _Row:
    view: bool
    count: int = 0
    shapes: Counter[Shapes] = field(default_factory=Counter)


class Census:
    """Counts calls by operator and by the dtypes of their tensors."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, tuple[str, ...]], _Row] = {}

    def see(self, call: Call) -> None:
        """Counts one call."""
        dtypes = tuple(str(t.dtype).removeprefix("torch.") for t in call.inputs)
        row = self._rows.setdefault((call.name, dtypes), _Row(call.view))
        row.count += 1
        row.shapes[tuple(tuple(t.shape) for t in call.inputs)] += 1

    def counts(self) -> Counter[str]:
        """How often each operator was called, whatever its dtypes."""
        total: Counter[str] = Counter()
        for (name, _), row in self._rows.items():
            total[name] += row.count
        return total

    def rows(self) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """Operator, dtypes and count, in order of appearance."""
        for (name, dtypes), row in self._rows.items():
            yield name, dtypes, row.count

    def report(self) -> dict[str, Any]:
        """The rows, the most frequent first; bounded, and saying what was left out."""
        ordered = sorted(self._rows.items(), key=lambda item: (-item[1].count, item[0]))
        return {
            "calls": sum(row.count for _, row in ordered),
            "distinct": len(self.counts()),
            "rows": [_written(name, dtypes, row) for (name, dtypes), row in ordered[:MOST_ROWS]],
            "rows_left_out": max(0, len(ordered) - MOST_ROWS),
        }


def _written(name: str, dtypes: tuple[str, ...], row: _Row) -> dict[str, Any]:
    common = sorted(row.shapes.items(), key=lambda item: (-item[1], item[0]))[:MOST_SHAPES]
    return {
        "operator": name,
        "dtypes": list(dtypes),
        "view": row.view,
        "count": row.count,
        "shapes": [{"inputs": [list(s) for s in shapes], "count": n} for shapes, n in common],
        "shapes_left_out": len(row.shapes) - len(common),
    }

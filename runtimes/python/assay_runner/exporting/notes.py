"""What a trace did beyond following the model's code, for the steps of the graph that came out of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_MOST_PLACES = 5


class Notes:
    """Filled while a model is traced. A tracer may run a model several times: what it says twice counts once."""

    def __init__(self) -> None:
        self._mixtures: set[str] = set()
        self.choices: dict[str, frozenset[str]] = {}
        """Lines that read a value, with the inputs from which it follows."""

    def mixture(self, layer: str) -> None:
        """A layer's loop over chosen experts was traced over all."""
        self._mixtures.add(layer)

    def read(self, place: str, sources: frozenset[str]) -> None:
        """A line read a value that follows from these inputs, and got the one of this call."""
        self.choices[place] = self.choices.get(place, frozenset()) | sources

    def forget(self, places: Collection[str]) -> None:
        """What was read at these lines does not matter."""
        self.choices = {place: sources for place, sources in self.choices.items() if place not in places}

    def settled(self, inputs: Collection[str]) -> None:
        """These inputs have one value: what follows from them alone is not a choice."""
        self.choices = {place: sources for place, sources in self.choices.items() if not sources <= set(inputs)}

    def steps(self) -> list[dict[str, Any]]:
        """As a graph's manifest has them."""
        return [step for step in (self._dense(), self._fixed()) if step["count"]]

    def _dense(self) -> dict[str, Any]:
        why = "a loop over the experts that were chosen has no fixed shape: each sees every token, and what it gives to"
        return {
            "name": "dense experts",
            "count": len(self._mixtures),
            "why": f"{why} those that did not choose it is left out",
        }

    def _fixed(self) -> dict[str, Any]:
        places = sorted(self.choices)
        at = ", ".join(places[:_MOST_PLACES]) + (" and more" if len(places) > _MOST_PLACES else "")
        by = sorted(frozenset().union(*self.choices.values()))
        return {
            "name": "fixed choices",
            "count": len(places),
            "why": f"choices made by the values of {', '.join(by)} are fixed to those of this call, at {at}",
            "by": by,
        }

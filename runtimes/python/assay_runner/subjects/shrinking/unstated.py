"""Values that modelling code reads from a configuration that has no such name.

Found by asking: building or running the model says which configuration lacks
which name, and the table says what it then gets. One row for each name, with
what the code does with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay_runner.workarounds import Fault

from .rules import FEEDFORWARD, HEADS, WINDOW

FAULT = Fault(
    "transformers_reads_what_configurations_lack",
    "transformers",
    ("5.17.0", "5.22.2"),
    "modelling code reads names that its own configuration has not",
)
LACKS = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
UNSET = re.compile(r"Could not find a `(\w+)` argument in the config, or it is not set")

# name: (value, why)
UNSTATED: dict[str, tuple[Any, str]] = {
    "dropout_rate": (0.0, "layers are made with it, and nothing is dropped when a model only runs"),
    "initializer_range": (0.02, "initialisation draws with it; the usual one"),
    "num_key_value_heads": (HEADS, "attention groups its heads by it: as many as heads"),
    "shared_expert_intermediate_size": (FEEDFORWARD, "an expert that every token gets, as wide as the others"),
    "sliding_window": (WINDOW, "layers that look through a window"),
    "rope_theta": (10000.0, "the usual base of rotary frequencies"),
    "clip_qkv": (8.0, "a bound of queries, keys and values, beyond what small weights give"),
    "vision_start_token_id": (3, "a mark before pictures, below the words that text is drawn from"),
    "vision_end_token_id": (4, "a mark after pictures, likewise"),
}


def asked(error: BaseException) -> tuple[str, str] | None:
    """(class, name) of what the error misses, if the table has it; the class is empty where the error names none."""
    if (found := LACKS.search(str(error))) and found[2] in UNSTATED:
        return found[1], found[2]
    found = UNSET.search(str(error))
    return ("", found[1]) if found and found[1] in UNSTATED else None


def complete(error: BaseException, made: Any, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values with the name set that the error misses, in every part that lacks it; None when nothing is known.

    ``made`` is the configuration that the values give: its parts say which class each of them is.
    """
    missing = asked(error)
    if missing is None:
        return None
    cls, name = missing
    completed = dict(values)
    for path in _parts(made, cls, name):
        completed = _with(completed, path, name, UNSTATED[name][0])
    return completed if completed != values else None


def _parts(made: Any, cls: str, name: str, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where parts of that class stand in a configuration; without a class, the parts in which the name is not set."""
    if type(made).__name__ == cls or (not cls and getattr(made, name, 0) is None):
        yield path
    for key, part in list(vars(made).items()):
        if hasattr(part, "to_dict"):
            yield from _parts(part, cls, name, (*path, key))


def _with(values: dict[str, Any], path: tuple[str, ...], name: str, value: Any) -> dict[str, Any]:
    if not path:
        return {**values, name: value}
    inner = values.get(path[0])
    return {**values, path[0]: _with(dict(inner), path[1:], name, value)} if isinstance(inner, Mapping) else values

"""What no rule can know: rows of data, each with its reason (data/diffusion.json).

`classes` gives values to a class wherever it is a part. `pipelines` gives values to the parts
of pipelines whose class name matches: how wide what their code concatenates is, which class an open
annotation means, what their call needs.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any


@cache
def rows(section: str) -> tuple[dict[str, Any], ...]:
    """The rows of a section of diffusion.json."""
    text = resources.files("assay_runner").joinpath("data/diffusion.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)[section])


def of_class(name: str) -> dict[str, Any]:
    """The values that a class has wherever it is a part."""
    return _merged(row["set"] for row in rows("classes") if re.fullmatch(row["class"], name))


def of_pipeline(name: str, field: str) -> dict[str, Any]:
    """What the rows say under a field (`parts`, `uses`, `call`) for a pipeline; later rows over earlier ones."""
    found: dict[str, Any] = {}
    for row in rows("pipelines"):
        if re.fullmatch(row["pipeline"], name):
            for key, value in row.get(field, {}).items():
                found[key] = {**found[key], **value} if isinstance(value, dict) and key in found else value
    return found


def _merged(values: Any) -> dict[str, Any]:
    return {key: value for row in values for key, value in row.items()}

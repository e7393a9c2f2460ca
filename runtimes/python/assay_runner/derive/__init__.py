"""Whether a model would run on a device that is not here, derived from torch's own tables.

A forward is traced without memory (`facts`), in the dtype that is asked for, and every
operator that reaches the dispatcher is counted with the dtypes of its tensors. That
census is compared with what the installed torch says of the device: `dispatch` is its
list of kernels, `unlisted` what the list does not say (dtypes that a device does not have,
operators for which torch calls another there), `judge` compares. The verdict is
derived: nothing ran. What it cannot see is in docs/platforms/mps.md. How far such
verdicts can be trusted is measured where the truth is known; `listed` is for that.

The trace is made of CPU tensors. Functions that are composed of others may be taken
apart in another way on another device; where that matters `unlisted` has a row.
"""

from __future__ import annotations

from typing import Any

from assay_runner.process.emit import Emit


def answer(job: dict[str, Any], emit: Emit) -> None:
    """Answers a ``derive`` job: the recipe at its first point, for each of the options' platforms."""
    from . import platforms

    options = job.get("options") or {}
    points = job.get("points") or [{}]
    emit.data(
        platforms.of(
            job.get("recipe") or {},
            points[0],
            str((job.get("cell") or {}).get("dtype") or "fp32"),
            [str(name) for name in options.get("platforms") or []],
            str(options.get("tables") or ""),
        )
    )

"""Laws that a right model obeys, whatever its reference is.

On the CPU in fp32 the reference is the same code: a fault in the library, a mask that is ignored or positions that are
off by one, is in both. The laws need no reference: they compare a model with itself.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from assay_runner.checking.laws import deciding, scripts, shortest
from assay_runner.checking.laws.case import Case, Forward
from assay_runner.checking.laws.every import LAWS
from assay_runner.checking.laws.law import BROKEN, INAPPLICABLE, UNKNOWN, Inapplicable, Law, Pair
from assay_runner.checking.laws.lighter import lighter
from assay_runner.checking.laws.scripts import script
from assay_runner.checking.tolerances import Tolerance
from assay_runner.subjects.programs import building

__all__ = ["LAWS", "Case", "Law", "check", "looked", "script"]

_BLANK: dict[str, Any] = {"max_rel": None, "tolerance": None, "output": "", "sample": None, "why": ""}


def check(
    built: building.Built,
    recipe: Mapping[str, Any],
    point: Mapping[str, Any],
    seed: int,
    forward: Forward,
    tolerance: Tolerance,
    only: Collection[str] | None = None,
    repro: bool = False,
) -> list[dict[str, Any]]:
    """A row for each law. The model is afterwards as it was. With `repro` a broken one has the shortest inputs that
    show it, and a script that does so without Assay."""
    case = lighter(Case(built, recipe, point, seed, forward, tolerance))
    laws = [law for law in LAWS if only is None or law.name in only]
    return [_row(law, case, repro) for law in laws]


def _row(law: Law, case: Case, repro: bool) -> dict[str, Any]:
    row, pair = looked(law, case)
    if repro and pair is not None and row["status"] == BROKEN:
        row, pair, case = shortest.found(law, case, row, pair, looked)
        row["script"] = scripts.script(row, case.recipe, case, pair)
    return row


def looked(law: Law, case: Case) -> tuple[dict[str, Any], Pair | None]:
    """The row of one law, and the pair that it is about."""
    began = time.process_time()
    row, pair = _looked(law, case)
    told = {"law": law.name, **_BLANK, **row, "ms": round(1e3 * (time.process_time() - began), 2)}
    if pair is not None and told["status"] == BROKEN:
        told["sample"] = deciding.described(pair.sample)
    return told, pair


def _looked(law: Law, case: Case) -> tuple[dict[str, Any], Pair | None]:
    memory = case.memory
    try:
        if why := law.applies(case):
            return {"status": INAPPLICABLE, "why": why}, None
        return deciding.judged(case, law.check(case))
    except Inapplicable as error:
        return {"status": INAPPLICABLE, "why": str(error)}, None
    except Exception as error:  # noqa: BLE001 - whatever it is, the law could not be looked at
        return {"status": UNKNOWN, "why": f"{type(error).__name__}: {error}".splitlines()[0][:200]}, None
    finally:
        memory.restore()

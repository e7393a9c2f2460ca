"""Plants faults in library code and looks whether laws notice them, or fingerprints, which show other answers."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from assay_runner.checking import laws, reference
from assay_runner.checking.laws.law import BROKEN, Pair

from . import children, fingerprinted, subjects
from .children import DIED
from .lawbreakers import FAULTS, Fault, Lacking
from .lawful import Lawful
from .planting import _apart

NOTHING = 1e-3  # of the largest value: a fault that does less is removed
LAWS, BOTH, FEWEST = 0.55, 0.95, 40  # shares that laws and both together must notice, of so many faults
NOTICED, SURVIVED, REMOVED, LACKING = "noticed", "survived", "removed", "not applicable"

Views = dict[tuple[str, str], dict[str, torch.Tensor]]


def drawn(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Types of transformers that are run by one plain forward."""
    known = {name: r for name, r in subjects.tiny().items() if not r.get("library") and not r.get("program")}
    names = options.types or random.Random(options.draw).sample(sorted(known), options.count)
    return [known[name] for name in names]


def seen(subject: Lawful) -> tuple[dict[str, dict[str, Any]], Views]:
    """Every law's row, and all outputs that laws looked at."""
    case, rows, views = subject.case, {}, {}
    with reference.forgetting(subject.built.model):
        for law in laws.LAWS:
            rows[law.name] = laws.looked(replace(law, check=_kept(law, views)), case)[0]
    return rows, views


def _kept(law: laws.Law, views: Views) -> Any:
    def check(case: laws.Case) -> Iterator[Pair]:
        for pair in law.check(case):
            views[law.name, f"{pair.what}, found"] = pair.found
            views[law.name, f"{pair.what}, expected"] = pair.expected
            yield pair

    return check


def moved(one: Views, other: Views) -> float:
    """How far a fault moves anything that laws look at, of its largest value. Tensors of weights are no outputs."""
    shared = [key for key in one if key in other and "tensor" not in key[1] and "second model" not in key[1]]
    outputs = [(one[key], other[key]) for key in shared]
    common = [({n: a[n] for n in b if n in a}, {n: t for n, t in b.items() if n in a}) for a, b in outputs]
    return max((_apart(a, b)[0] for a, b in common), default=0.0)


def tried(recipe: dict[str, Any]) -> dict[str, Any]:
    """What became of every fault in one type."""
    subject = Lawful.of(recipe)
    right, before = seen(subject)
    unlike = fingerprinted.changed(recipe)
    if unlike is not None and unlike > fingerprinted.TOLERANCE:
        raise ValueError(f"its fingerprint is off by {unlike:.1e} though nothing is planted")
    return {"faults": [_tried(subject, fault, right, before) for fault in FAULTS]}


def _tried(subject: Lawful, fault: Fault, right: dict[str, dict[str, Any]], before: Views) -> dict[str, Any]:
    told = {"type": subject.recipe["type"], "fault": fault.name, "alike": fault.alike}
    try:
        with fault.planted(subject.built.model):
            rows, after = seen(subject)
            changed = _changed(subject.recipe)
    except Lacking as error:
        return told | {"became": LACKING, "why": str(error)}
    effect = max(moved(after, before), changed or 0.0)
    noticed = [name for name, row in rows.items() if row["status"] == BROKEN and right[name]["status"] != BROKEN]
    raised = [name for name, row in rows.items() if row["status"] == "unknown" and right[name]["status"] == "holds"]
    told |= {"effect": effect, "noticed": noticed, "raised": raised, "changed": changed}
    if effect <= NOTHING and not noticed:
        return told | {"became": REMOVED}
    return told | {"became": NOTICED if noticed or differs(told) else SURVIVED}


def _changed(recipe: dict[str, Any]) -> float | None:
    """How far the fingerprint is from the kept one; none where no check could be made."""
    try:
        return fingerprinted.changed(recipe)
    except Exception:  # noqa: BLE001 - whatever it is, there is no fingerprint then
        return None


def differs(row: dict[str, Any]) -> bool:
    """Whether the fingerprint notices a fault."""
    return (row.get("changed") or 0.0) > fingerprinted.TOLERANCE


def trial(options: argparse.Namespace) -> int:
    """The trial with faults."""
    rows: list[dict[str, Any]] = []
    for recipe, answer in children.each(drawn(options), tried, options.processes, options.limit, options.loud):
        rows += answer.get("faults", [])
        subjects.keep(options.out, answer.get("faults", []))
        print(f"{recipe['type']}: {answer.get(DIED) or _told(answer['faults'])}", flush=True)
    _print(rows)
    kinds = {
        "on one way through a model": [row for row in rows if not row["alike"]],
        "the same on every way": [row for row in rows if row["alike"]],
        "together": rows,
    }
    print(f"\n{'faults':28} counted   laws  fingerprints  both")
    for name, own in kinds.items():
        shares = "  ".join(f"{100 * share:6.1f} %" for share in shares_of(own))
        print(f"{name:28} {len(_counted(own)):7} {shares}")
    own, one_way = shares_of(rows), shares_of(kinds["on one way through a model"])
    enough = one_way[0] >= options.least and own[0] >= LAWS and own[2] >= BOTH
    return 0 if enough and len(_counted(rows)) >= FEWEST else 1


def _told(rows: list[dict[str, Any]]) -> str:
    return ", ".join(f"{count} {what}" for what, count in Counter(row["became"] for row in rows).items())


def _counted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The faults that do something."""
    return [row for row in rows if row["became"] in (NOTICED, SURVIVED)]


def shares_of(rows: list[dict[str, Any]]) -> tuple[float, float, float]:
    """The shares that laws notice, fingerprints, and both together."""
    counted = _counted(rows)
    if not counted:
        return 0.0, 0.0, 0.0
    counts = (
        sum(bool(row["noticed"]) for row in counted),
        sum(differs(row) for row in counted),
        sum(row["became"] == NOTICED for row in counted),
    )
    return counts[0] / len(counted), counts[1] / len(counted), counts[2] / len(counted)


def _print(rows: list[dict[str, Any]]) -> None:
    print(f"\n{'fault':36} laws  fingerprints  both / counted   removed   by")
    for fault in FAULTS:
        own = [row for row in rows if row["fault"] == fault.name]
        counted, by = _counted(own), Counter(law for row in own for law in row.get("noticed", []))
        seen_by = [sum(bool(row["noticed"]) for row in counted), sum(map(differs, counted))]
        both, gone = (sum(row["became"] == what for row in own) for what in (NOTICED, REMOVED))
        told = ", ".join(f"{law} {count}" for law, count in by.most_common())
        print(f"{fault.name:36} {seen_by[0]:4} {seen_by[1]:13} {both:5} / {len(counted):<7} {gone:9}   {told}")
    for what in (SURVIVED, REMOVED):
        found = [row for row in rows if row["became"] == what]
        print(f"\n{what}: {len(found)}")
        for row in found:
            raised = f", raised in {', '.join(row['raised'])}" if row["raised"] else ""
            print(f"  {row['type']}: {row['fault']} ({row['effect']:.1e}{raised})")

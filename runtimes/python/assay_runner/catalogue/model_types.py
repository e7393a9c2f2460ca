"""The catalogue: every model type of the installed transformers, read by introspection.

``python -m assay_runner catalog --out types.json`` writes it; the ``catalog`` job of the
protocol answers with the same object. The pipelines of diffusers, where that is installed,
are in their own file (``--pipelines``), and in the answer beside the types. Reading
all of some 790 types imports every modelling module once, which takes about a minute and a
gigabyte, so it is done when the catalogue is made and not when a cell runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay_runner.process.emit import Emit

SCHEMA = 1


def entry(facts: Any) -> dict[str, Any]:
    """One type as the catalogue writes it. Empty values are left out."""
    from assay_runner.introspection.families import PIPELINES, families_of, priority_of

    families = families_of(facts) if facts.heads else ["other"]
    row = {
        "type": facts.type,
        "config_class": facts.config_class,
        "class": facts.heads[0][1] if facts.heads else "",
        "task": facts.tasks[0] if facts.heads else "",
        "heads": [{"task": task, "class": name} for task, name in facts.heads],
        "family": families[0],
        "families": families,
        "pipeline": PIPELINES[families[0]],
        "checkpoint": facts.checkpoint,
        "priority": priority_of(facts),
        "inputs": facts.inputs,
        "modalities": sorted(facts.modalities),
        "encoder_decoder": facts.encoder_decoder,
        "auto": facts.auto,
        "component": not facts.heads,
        "note": facts.note,
    }
    return {key: value for key, value in row.items() if value not in ("", [], False)}


def make(types: Sequence[str] | None = None) -> dict[str, Any]:
    """The catalogue of these types, or of all. The same release gives the same object every time."""
    import transformers

    from assay_runner.introspection import classes, type_facts

    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    names = sorted(types) if types else classes.all_types()
    return {
        "schema": SCHEMA,
        "transformers": transformers.__version__,
        "types": [entry(type_facts.read(name)) for name in names],
    }


def pipelines() -> dict[str, Any]:
    """The catalogue of the pipelines of diffusers; NotInRelease where it is not installed."""
    from assay_runner.subjects.diffusion import release

    from . import pipeline_types

    return {"schema": SCHEMA, "diffusers": release.version(), "types": pipeline_types.entries()}


def answer(job: dict[str, Any], emit: Emit) -> None:
    """Answers a ``catalog`` job; ``options.types`` may narrow it."""
    types = (job.get("options") or {}).get("types")
    found = make(types)
    if not types and find_spec("diffusers"):
        also = pipelines()
        found |= {"diffusers": also["diffusers"], "types": found["types"] + also["types"]}
    emit.data(found)


def write(catalogue: dict[str, Any], path: Path) -> None:
    """Writes the catalogue with one type a line, so that two releases can be compared by diff."""
    head = {key: value for key, value in catalogue.items() if key != "types"}
    rows = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in catalogue["types"])
    path.write_text(json.dumps(head)[:-1] + f', "types": [\n{rows}\n]}}\n', encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Writes types.json, pipelines.json or both."""
    parser = argparse.ArgumentParser(prog="assay_runner catalog", description=__doc__)
    parser.add_argument("--types", nargs="*", help="only these types (all when left out)")
    parser.add_argument("--out", type=Path, help="the file of types to write")
    parser.add_argument("--pipelines", type=Path, help="the file of diffusers pipelines to write")
    options = parser.parse_args(argv)
    if not (options.out or options.pipelines):
        parser.error("nothing to write: give --out, --pipelines or both")
    if options.out:
        catalogue = make(options.types)
        write(catalogue, options.out)
        print(f"{len(catalogue['types'])} types of transformers {catalogue['transformers']}", file=sys.stderr)
    if options.pipelines:
        catalogue = pipelines()
        write(catalogue, options.pipelines)
        print(f"{len(catalogue['types'])} pipelines of diffusers {catalogue['diffusers']}", file=sys.stderr)
    return 0

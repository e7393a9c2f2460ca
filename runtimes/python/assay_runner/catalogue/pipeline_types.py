"""The rows of the catalogue for pipelines: one for each type, with all its tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from assay_runner.subjects.diffusion import components
from assay_runner.subjects.pipelines import asking, tasks
from assay_runner.subjects.pipelines.tasks import Head

FAMILY = "diffusion"

# Where a pipeline's documentation names its checkpoint, best way first; {0} is the class.
CHECKPOINTS = (
    r'{0}\.from_pretrained\(\s*"([\w.-]+/[\w.-]+)"',
    r'(?:model_id|repo_id|repo|model_name|ckpt_id|model|bfl_repo)\w*\s*=\s*"([\w.-]+/[\w.-]+)"',
    r'[Pp]ipe\w*\s*=\s*\w+\.from_pretrained\(\s*"([\w.-]+/[\w.-]+)"',
    r'from_pretrained\(\s*"([\w.-]+/[\w.-]+)"',
)

_PROMPT = re.compile(r"^\s*(>>>|\.\.\.)", re.MULTILINE)  # of lines of Python in documentation

# The kinds of data that go in, by the names of a call's parameters.
MODALITIES = {"prompt": "text", "image": "image", "mask_image": "image", "control_image": "image", "video": "video"}

MANY_TASKS = 3  # a type that the library's own mappings give three tasks is what people use for everything


def entries() -> list[dict[str, Any]]:
    """Every pipeline type of the installed release, by name. Empty values are left out."""
    ordered = sorted(tasks.heads(), key=lambda head: head.type)  # stable: heads stay in order of preference
    return [_entry(name, list(heads)) for name, heads in groupby(ordered, key=lambda head: head.type)]


def _entry(name: str, heads: list[Head]) -> dict[str, Any]:
    default = heads[0]
    inputs = list(_inputs(default))
    row = {
        "type": name,
        "library": "diffusers",
        "class": default.cls.__name__,
        "task": default.task,
        "heads": [{"task": head.task, "class": head.cls.__name__} for head in heads],
        "family": FAMILY,
        "families": [FAMILY],
        "pipeline": FAMILY,
        "checkpoint": next(filter(None, (checkpoint(head.cls) for head in heads)), ""),
        "priority": priority(heads),
        "inputs": inputs,
        "modalities": sorted({MODALITIES[one] for one in inputs if one in MODALITIES}),
        "auto": any(head.mapped for head in heads),
        "note": "diffusers calls it deprecated" if all(_deprecated(head) for head in heads) else "",
    }
    return {key: value for key, value in row.items() if value not in ("", [], False)}


def _inputs(head: Head) -> Iterator[str]:
    """What the pipeline is given, apart from noise."""
    made = [part.name for part in components.read(head.cls)]
    for spec in asking.inputs(components.accepted(head.cls), made, head.task, asking.SIDES[0]):
        if spec["name"] != asking.NOISE_NAME:
            yield spec["name"]


def _deprecated(head: Head) -> bool:
    return ".deprecated." in head.cls.__module__


def priority(heads: list[Head]) -> str:
    """high, medium or low, by how much the library's own mappings make of the type."""
    mapped = {head.task for head in heads if head.mapped}
    if len(mapped) >= MANY_TASKS:
        return "high"
    return "medium" if mapped else "low"


def checkpoint(cls: type) -> str:
    """The checkpoint that the documentation of a pipeline names; empty when it names none."""
    text = _PROMPT.sub("", f"{cls.__doc__ or ''}\n{cls.__call__.__doc__ or ''}")
    for pattern in CHECKPOINTS:
        if found := re.search(pattern.format(cls.__name__), text):
            return found[1]
    return ""

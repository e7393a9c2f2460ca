"""The package's commands. Each imports what it needs and nothing else."""

from __future__ import annotations

import importlib
import sys

COMMANDS = {
    "zygote": ("process.start.main", "run jobs: what Assay starts (--bare, --spawn)"),
    "child": ("process.child.after_spawn", "run one job: what a spawning runner starts"),
    "probe": ("probes.main", "look at the hardware through one library: probe NAME"),
    "instructions": ("machine.instructions.main", "try which instruction sets execute: instructions LEVEL…"),
    "rank": ("engines.torch.rank_main.main", "share a model's work with other processes: rank JOB.json"),
    "version": ("process.libraries.main", "print what is installed as JSON, importing none of it"),
    "catalog": ("catalogue.model_types.main", "print the model types of the installed transformers"),
    "recipes": ("subjects.recipes.on_demand.main", "make recipes of the installed transformers"),
    "checkpoints": ("catalogue.published.main", "print the known checkpoints by family, as docs/models.md has them"),
    "processors": ("subjects.processors.report.main", "compare recipes with the processors of their types"),
    "pipelines": ("subjects.pipelines.pipeline_recipes.main", "make recipes of the installed diffusers"),
}
"""Command → function of this package, and what it is for."""

LEAST_PYTHON = (3, 10)


def main(argv: list[str]) -> int | str | None:
    """Run one command."""
    if sys.version_info < LEAST_PYTHON:
        return "assay_runner needs Python 3.10 or newer, and this is " + sys.version.split()[0]
    if not argv or argv[0] not in COMMANDS:
        print("usage: python -m assay_runner COMMAND", file=sys.stderr)
        for name, (_, purpose) in COMMANDS.items():
            print(f"  {name:11} {purpose}", file=sys.stderr)
        return 2
    module, _, function = COMMANDS[argv[0]][0].rpartition(".")
    return getattr(importlib.import_module(f"{__package__}.{module}"), function)(argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

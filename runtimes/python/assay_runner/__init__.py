"""Assay's Python runner: carries cells out in child processes, over the protocol of docs/protocol.md.

How the parts fit. `python -m assay_runner zygote` is what Assay starts. A small *keeper* (keeper.py) stays in front
of it and leaves nothing behind when either side dies. Behind it is one of two supervisors:

- zygote.py (Linux): imports the heavy libraries once, computes nothing, and forks a child for each job;
- spawn.py (elsewhere, or with --spawn): starts a fresh interpreter for each job.

Both relay what the child says (supervised.py) and speak the same messages (protocol.py). In the child, child.py picks
who carries the job out, and emit.py is how that one reports. The engines, recipes and the catalogue are modules of
their own that import nothing from here.

Nothing in this package imports anything heavy at its top level, and all of it works with the standard library alone.
"""

PROTOCOL = 1
"""The version of the protocol that this package speaks."""

"""Assay's Python runner: runs cells in child processes, over the protocol of docs/protocol.md.

`python -m assay_runner zygote` is what Assay starts (`process`). A child finds what runs its job in the table
`jobs`. A cell's model is built from its recipe (`subjects`), run by an engine (`engines`), which may export it first
(`exporting`), and its outputs are checked (`checking`). Other jobs are questions: which types there are (`catalogue`,
by `introspection` of transformers), what a model is made of (`facts`), whether a device that is not here would run it
(`derive`), what this machine has (`probes`, `machine`). `errors` holds the failures that Assay knows by name,
`workarounds` what a fault of a library is.

docs/architecture.md says which folder may import which, and a test enforces it. Nothing in `process` imports anything
heavy, and all of that folder works with the standard library alone.
"""

PROTOCOL = 1
"""The version of the protocol that this package speaks."""

"""Trials of the check itself, which take long: `make test-full` runs them.

`mutants` plants faults between Assay and an engine, which the check must notice. `false_alarms` checks models that
nobody changed, which it must leave alone. `judge` draws inputs by code of its own and compares engine and torch on
them, so that no verdict rests on the inputs that Assay draws for itself.

Each is a program: `scripts/trials PYTHON NAME [OPTION]...`, with --help for its options.
"""

"""A device of torch's plug-in kind, for tests: torch's own way of adding one (PrivateUse1), with memory of the host's.

`device.cpp` is compiled once for a folder. Its device is torch's for the rest of the process, so that tests use it in
processes of their own: `python -m shelf.run`, or a package that brings it as makers' packages bring theirs (`maker`).
"""

"""One function for each fault of a library that Assay works around, under the fault's name.

A function uses the library without the workaround, on a graph of a few nodes or a small module, and gives whether the
fault is there. It skips where this machine cannot tell. `test_workarounds.py` runs them all (`make test-full`).
"""

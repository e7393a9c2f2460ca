"""One reproducer for each fault of a library that Assay works around, under the fault's name.

It uses the library without the workaround, on a graph of a few nodes or a small module, and says whether the fault is
there. It skips where this machine cannot tell. Most are scripts of at most twenty lines that need nothing of Assay
(`scripts/`): docs/findings.md shows them. The others are functions of `of_*.py`, because they need a page of a browser,
a processor of some kind, or Assay's own tables. `test_workarounds.py` runs them all, and `test_findings.py` the scripts
of what Assay finds and cannot work around (`make test-full`).
"""

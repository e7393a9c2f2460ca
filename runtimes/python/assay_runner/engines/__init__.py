"""The engines that run `check` and `time` jobs, and what they share.

`torch` runs the model itself. The others run an exported graph: each has a folder with a `backend`, its own rewrites of
graphs, its quantising and its generation, and keeps the two contracts of `contract`. `graphs` runs jobs for all
of them. `timing` is the timed loop, `preimporting` what is imported before a job.
"""

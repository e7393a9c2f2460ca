"""From natural inputs to named arrays, and from named arrays to natural outputs.

`material` opens what a user has: pictures, sounds, videos. A reader makes a
model's inputs from it and from texts: `own` by the processors beside a checkpoint's weights, `plain` by the recipe, for
models whose weights are random and that have none. What a task's outputs mean, and how texts become
ids and back, is the runner's (`assay_runner.subjects.natural`).
"""

"""From natural inputs to named arrays, and from named arrays to natural outputs.

`material` opens what a user has: pictures, sounds, videos. `words` turns texts into ids and back. A reader makes a
model's inputs from both: `own` by the processors beside a checkpoint's weights, `plain` by the recipe, for
models whose weights are random and that have none. `answers` is the table of what a task's outputs mean.
"""

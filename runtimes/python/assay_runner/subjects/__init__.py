"""What a cell runs: the model that a recipe names, its weights and its inputs, the same bits on every machine.

The modules here follow a recipe: they find classes and configurations (`models`), draw weights (`weights`,
`initialisation`, `stream`) and make inputs (`inputs`, `expressions`, `front_ends`). `programs` builds and runs what is
more than one forward, and `diffusion` puts pipelines together. The other folders make recipes: `recipes` for a type,
a checkpoint or a file, with configurations made small (`shrinking`) and inputs found that fit (`fitting`), `pipelines`
for diffusers; `processors` compares them with the library's own.
"""

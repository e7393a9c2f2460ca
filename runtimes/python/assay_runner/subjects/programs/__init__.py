"""Programs: how a model is run that is more than one plain forward.

A recipe's `program` names a row of PROGRAMS (`table`); without one it is a plain forward of
the class that the recipe names. A program constructs a `torch.nn.Module` and
nothing else: it is called while weights are drawn (`weights.drawn`), so that every
parameter and buffer below it gets its values by seed and name as a plain model's
do, and `forward(**inputs, **call)` of what it returns carries the whole run out
and gives tensors, a model output or a dictionary of them. Dtypes, devices,
references, controls, timing and reports then treat it as any other model; they
look at its parts, at `config` where it has one, and call it.

A program whose core is one class of transformers also says how it is laid
`around` a model that was loaded from a folder. One that is put together from
several classes (recipe field `parts`) reads its own.

Programs import what they need when they are called: a runner without diffusers
has all the others. `building` gives what they construct its weights.
"""

"""Recipes of pipelines of diffusers: found, put together tiny, and written down.

``tasks`` says which pipelines the library has and what each is for. ``composing`` makes
the parts tiny by rule and fits them to each other, with the tables of ``narrowing`` for
diffusers' own networks, the shrinker of `subjects.shrinking` for encoders of transformers,
and ``rows`` of data where no rule can know. ``asking`` says what a call is given.
``drafting`` searches, checks and writes a recipe; ``pipeline_recipes`` does so for many.
"""

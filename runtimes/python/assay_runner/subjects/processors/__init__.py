"""Inputs made by rule against the library's own processors.

A recipe's inputs are drawn, not prepared from a picture: only the model's own
errors show whether their layout is the one in use. So, where a type's processors can
be made without files, real material goes through them and what comes out is compared.

``finding`` says which processor classes a recipe's inputs come from. ``settings`` is the
table of what such a class must be told to fit a small model. ``material`` makes the
pictures, videos, sounds and words. ``probing`` feeds them, in several numbers and sizes, and
so learns which axes a processor keeps. ``comparing`` compares that with the recipe.
``report`` is the command ``python -m assay_runner processors`` and its tables.
"""

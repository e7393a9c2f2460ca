"""Pipelines of diffusers, put together by a recipe.

A pipeline is several networks, a scheduler and tokenizers that know each other's sizes.
``release`` is the installed library, and ``components`` reads from a constructor what a
pipeline consists of. ``assembling`` makes the parts that a recipe names, with a tokenizer
of a word for each id (``tokenizers``), and ``drawing`` gives a pipeline the same noise on
every machine and in every dtype; the program that calls them is `programs.pipeline`.

diffusers is imported when a function is called, never when a module is.
"""

"""Pipelines of diffusers: found, put together tiny, and described as recipes.

A pipeline is several networks, a scheduler and tokenizers that know each other's sizes.
``release`` is the installed library, ``tasks`` which pipelines it has and what each is
for, ``catalogue`` writes that down. ``parts`` reads from a constructor what a pipeline
consists of; ``composing`` makes the parts tiny by rule and fits them to each other, with
the tables of ``rules`` for diffusers' own networks, the shrinker of `assay_runner.shrink`
for encoders of transformers, a tokenizer of a word for each id (``tokenizers``), and
``rows`` of data where no rule can know. ``asking`` says what a call is given. ``making``
searches, checks and writes recipes; ``recipes`` does so for many.

Carrying a recipe out needs only ``building``, which makes the parts, and ``noise``, which
gives a pipeline the same noise on every machine and in every dtype; the program that
calls them is `assay_runner.programs.pipeline`.

diffusers is imported when a function is called, never when a module is.
"""

"""From what a user has to a model's inputs, and from its outputs to what a user wants.

``raw`` draws texts, pictures and sounds that a recipe's inputs are made from, the same bits everywhere. ``readers``
makes the processors of a type without files, by rule, and reads with them; ``written_out`` is what they should give.
``spoken`` turns texts into ids and back. ``answers`` is the table of what a task's outputs mean.
"""

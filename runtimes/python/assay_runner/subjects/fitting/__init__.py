"""Inputs that fit: found by search when a recipe is made, kept in it, never searched for again.

``read`` finds sizes in a configuration tree. ``layouts`` is the table of forward's
parameters: the shapes each may have, in order of likelihood, and which go along
with which. ``places`` counts the placeholder ids that multimodal models want among
the text. ``guess`` writes the input specifications of one try; ``repairs`` reads
an error message and says what to try instead; ``search`` goes through the tries and
``verify`` checks what was found with other batches and sizes. ``controls`` chooses the
negative control, ``program_choice`` the program. ``special`` has the rows of the few types
that need a value of their own.
"""

"""What the installed transformers says about its own model types.

``heads`` reads the auto mappings: which class does which task. ``classes`` finds
a type's configuration and model classes, also those that only its modelling
module knows. ``type_facts`` reads one type: modalities, inputs, checkpoint, experts,
state spaces. ``families`` turns facts into family, pipeline and priority by
tables. ``processor_classes`` reads which classes prepare a type's inputs.
Nothing here looks at words in a type's name.
"""

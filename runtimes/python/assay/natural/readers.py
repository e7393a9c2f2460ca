"""Who reads for a model: its checkpoint's own processors, or the recipe."""

from __future__ import annotations

from ..subjects import Subject
from .plain import Plain
from .reading import Reader


def reader(subject: Subject) -> tuple[Reader, list[str]]:
    """The reader of a model, and what there is to say about it."""
    if not subject.folder:
        return Plain(subject.recipe), []
    from .own import Own

    try:
        return Own(subject.recipe, subject.folder), []
    except (OSError, ValueError, ImportError) as error:
        why = " ".join(str(error).split())[:200]
        return Plain(subject.recipe), [f"inputs are read by rule: there is no processor beside the weights ({why})"]

"""Smaller inputs where those of a recipe are large: a law holds of every image, and of a small one it is seen sooner.

A recipe may need the size that its model was made for (64 frames of 256 by 256 make 8192 patches, and every patch
attends to every other). Laws compare a model with itself, so any size that it takes will do. Only the sizes of images
are halved: a text is short already, and other sizes decide what is computed.
"""

from __future__ import annotations

from dataclasses import replace

from assay_runner.checking.laws.case import Case

_IMAGE = "image"
_MOST = 1 << 20  # numbers of one row


def lighter(case: Case) -> Case:
    """The case with images halved until they are small enough; as it was where the model takes no smaller ones."""
    found = case
    while _IMAGE in case.recipe.get("sizes", {}) and numbers(found) > _MOST and found.sizes[_IMAGE] % 2 == 0:
        found = replace(case, point={**case.point, _IMAGE: found.sizes[_IMAGE] // 2}, _seen={})
    return found if found is case or _takes(found) else case


def numbers(case: Case) -> int:
    """How many numbers one row has."""
    return sum(t.numel() for t in case.one.values())


def _takes(case: Case) -> bool:
    memory = case.memory
    try:
        case.run(case.row(0))
    except Exception:  # noqa: BLE001 - whatever it is, the model takes no such image
        return False
    finally:
        memory.restore()
    return True

"""What strangers send to a held model."""

from __future__ import annotations

import base64

import pytest

from assay import holding
from assay.errors import BadInput


@pytest.mark.parametrize(
    ("given", "modalities", "words"),
    [
        ({"nothing": "x"}, ("text",), "an input has text, image, video or audio, and not 'nothing'"),
        ({"image": base64.b64encode(b"no image").decode()}, ("image",), "this is no image that can be read"),
        ({"audio": base64.b64encode(b"RIFF$").decode()}, ("audio",), "this is no wav file that can be read"),
        ("not base64!", ("image",), "files in base64"),
        ("x", (), "give its inputs by name"),
    ],
)
def test_bad_inputs(given: object, modalities: tuple[str, ...], words: str) -> None:
    """They are told what is wrong with them, and nothing of this machine."""
    with pytest.raises(BadInput, match=words) as refused:
        holding.natural(given, modalities)
    assert "/tmp" not in str(refused.value)
    assert " at 0x" not in str(refused.value)

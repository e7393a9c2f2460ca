"""Tiny tokenizers, made on the spot: a word for each id of a tiny vocabulary.

Every id i that is not special has the word `wi`, so that ids drawn for a prompt become a
text, and tokenising the text gives them back. The special ids are those of the encoder
that the tokenizer belongs to: a text encoder that looks for its end of text finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_runner.subjects.shrinking.rules import VOCABULARY

LONGEST = 77  # tokens that a text is padded to where a pipeline names no other number
SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
# Chat models get the words of all messages in a row: their marks would be unknown words to a tiny vocabulary.
TEMPLATE = (
    "{% for m in messages %}{% if m['content'] is string %}{{ m['content'] }} {% else %}"
    "{% for part in m['content'] %}{{ part['text'] if 'text' in part else '' }} {% endfor %}{% endif %}{% endfor %}"
)


def text(ids: list[int]) -> str:
    """The text whose tokens these ids are."""
    return " ".join(f"w{i}" for i in ids)


def make(config: Mapping[str, Any]) -> Any:
    """The tokenizer of a configuration: special ids by name, which of them enclose a text, how long it may be."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = config["ids"]
    words = {f"w{i}": i for i in range(config.get("vocabulary", VOCABULARY)) if i not in ids.values()}
    marked = {SPECIAL[name]: i for name, i in ids.items()}
    backend = Tokenizer(models.WordLevel({**words, **marked}, SPECIAL["unk_token"]))
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    marks = [SPECIAL[name] for name in config.get("around", ("eos_token",))]
    before, after = marks[:-1], marks[-1:]
    backend.post_processor = processors.TemplateProcessing(
        single=[*before, "$A", *after], special_tokens=[(mark, backend.token_to_id(mark)) for mark in marks]
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=config.get("longest", LONGEST),
        padding_side="right", **{name: SPECIAL[name] for name in ids},
    )  # fmt: skip
    made.chat_template = TEMPLATE
    return made


def config_for(encoder: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of the tokenizer of an encoder with these values."""
    vocabulary = int(encoder.get("vocab_size") or VOCABULARY)
    free = iter(range(vocabulary - 1, 0, -1))
    ids: dict[str, int] = {}
    for name, key in (("eos_token", "eos_token_id"), ("bos_token", "bos_token_id"), ("pad_token", "pad_token_id")):
        value = encoder.get(key)
        known = isinstance(value, int) and 0 <= value < vocabulary and value not in ids.values()
        ids[name] = value if known else next(i for i in free if i not in ids.values())
    ids["unk_token"] = next(i for i in free if i not in ids.values())
    longest = encoder.get("max_position_embeddings")
    return {
        "ids": ids,
        "vocabulary": vocabulary,
        "longest": min(LONGEST, longest) if isinstance(longest, int) else LONGEST,
        "around": ["bos_token", "eos_token"] if isinstance(encoder.get("bos_token_id"), int) else ["eos_token"],
    }

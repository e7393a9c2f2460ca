"""What one type's own classes and configuration say about it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import classes
from .modalities import main_inputs, modalities_of

# Whole numbers above one under these names mean that a router chooses among experts.
EXPERT_COUNTS = frozenset(
    {"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts", "n_experts", "num_routed_experts"}
)
# Sizes of a recurrent state, as the state-space configurations name them.
STATE_SIZES = frozenset({"state_size", "ssm_state_size", "mamba_d_state", "d_state", "lru_width"})
# Only a model that asks an index for documents has a size for the vectors it looks up.
RETRIEVAL_SIZES = frozenset({"retrieval_vector_size"})
# Only a model that fills a canvas by denoising it step by step has a length for one.
DIFFUSION_SIZES = frozenset({"canvas_length"})

# Where releases name the checkpoint that a configuration's defaults describe, newest way first.
CHECKPOINT_PATTERNS = (
    re.compile(r'auto_docstring\([^)]*checkpoint="([^"\s]+)"'),
    re.compile(r"https://(?:huggingface\.co|hf\.co)/([\w.-]+/[\w.-]+)"),
)
# An example may leave the name open: "..." is none.
FROM_PRETRAINED = re.compile(r"""from_pretrained\(\s*["']((?=[^"']*\w)[\w.-]+(?:/[\w.-]+)?)["']""")


@dataclass(frozen=True)
class Facts:
    """What introspection found; families and priority are derived from it by tables."""

    type: str
    config_class: str
    heads: list[tuple[str, str]]  # (task, class), the default first
    auto: bool  # named by an auto mapping
    checkpoint: str = ""
    modalities: frozenset[str] = frozenset()
    inputs: list[str] = field(default_factory=list)
    encoder_decoder: bool = False
    causal: bool = False
    experts: bool = False
    state_space: bool = False
    retrieval: bool = False
    diffusion: bool = False
    note: str = ""  # why something could not be read

    @property
    def tasks(self) -> list[str]:
        """The tasks of all heads, the default first, none twice."""
        return list(dict.fromkeys(task for task, _ in self.heads))


def walk(tree: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Every named value of a configuration and its sub-configurations."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from walk(value)
        elif isinstance(key, str):
            yield key, value


def counts_more_than_one(values: list[tuple[str, Any]], names: frozenset[str]) -> bool:
    """Whether one of the named values is a whole number above one."""
    return any(key in names and type(value) is int and value > 1 for key, value in values)


def checkpoint_of(config_cls: type, model_cls: type | None) -> str:
    """The checkpoint that the documentation names; empty when it names none."""
    try:
        source = inspect.getsource(config_cls)
    except (OSError, TypeError):
        source = config_cls.__doc__ or ""
    for pattern in CHECKPOINT_PATTERNS:
        if found := pattern.search(source):
            return found[1].rstrip(".")
    texts = [getattr(getattr(model_cls, "forward", None), "__doc__", None), getattr(model_cls, "__doc__", None)]
    for text in filter(None, texts):
        if found := FROM_PRETRAINED.search(text):
            return found[1]
    return ""


def is_causal(config: Any, parameters: Mapping[str, Any], tasks: list[str]) -> bool:
    """Whether the type is made to continue text: by its heads, else by a cache that no switch turns off."""
    if "text-generation" in tasks:
        return "fill-mask" not in tasks
    return "past_key_values" in parameters and not hasattr(config, "is_decoder")


def read(model_type: str) -> Facts:
    """Reads one type. What cannot be read is left at its empty value, with a note."""
    config_cls = classes.config_class(model_type)
    heads = classes.task_heads(model_type)
    base = {"type": model_type, "config_class": config_cls.__name__, "auto": classes.in_auto_mappings(model_type)}
    model_cls = classes.model_class(config_cls, heads[0][1]) if heads else None
    notes: list[str] = []
    parameters, modalities, inputs = {}, frozenset(), []
    if model_cls is not None:
        try:
            parameters = classes.signature(model_cls)
            modalities = modalities_of(model_cls, parameters)
            inputs = main_inputs(model_cls, parameters)
        except ImportError as missing:  # a stand-in class that names the package it needs
            notes.append(str(missing).strip().splitlines()[0])
    config, values = None, []
    try:
        config = config_cls()
        values = list(walk(config.to_dict()))
    except Exception as error:  # noqa: BLE001 - any type's own code may raise anything here
        notes.append(f"its default configuration cannot be made: {type(error).__name__}")
    tasks = [task for task, _ in heads]
    return Facts(
        **base,
        heads=heads,
        checkpoint=checkpoint_of(config_cls, model_cls),
        modalities=modalities,
        inputs=inputs,
        encoder_decoder=bool(getattr(config, "is_encoder_decoder", False)) or "text2text-generation" in tasks,
        causal=is_causal(config, parameters, tasks),
        experts=counts_more_than_one(values, EXPERT_COUNTS),
        state_space=counts_more_than_one(values, STATE_SIZES),
        retrieval=counts_more_than_one(values, RETRIEVAL_SIZES),
        diffusion=counts_more_than_one(values, DIFFUSION_SIZES),
        note="; ".join(notes),
    )

"""What belongs together in a configuration, repaired after its numbers became small."""

from __future__ import annotations

from typing import Any

from .layers import whole
from .rules import HEAD, HEADS, WIDTH

# (heads, head size, expansion): selective state spaces need heads times head size = expansion times width.
STATE_HEADS = (
    ("mamba_n_heads", "mamba_d_head", "mamba_expand"),
    ("num_heads", "head_dim", "expand"),
    ("mamba_num_heads", "mamba_head_dim", "expand"),
    ("n_mamba_heads", "mamba_headdim", "mamba_expand"),
)
STATE_GROUPS = ("n_groups", "mamba_n_groups", "mamba_ngroups")


def repair(small: dict[Any, Any], default: dict[str, Any]) -> None:
    """Repairs one node in place. Only called where widths were made small."""
    _latent_attention(small, default)
    _state_space(small)
    _rotary(small)
    _shuffled(small)
    _axial(small)


def _latent_attention(small: dict[Any, Any], default: dict[str, Any]) -> None:
    """The head size of latent attention is its turning part, or that and the other part together."""
    head, turning, still = (default.get(key) for key in ("head_dim", "qk_rope_head_dim", "qk_nope_head_dim"))
    if not (whole(head) and whole(turning)):
        return
    if head == turning:
        small["head_dim"] = small["qk_rope_head_dim"]
    elif whole(still) and head == turning + still:
        small["head_dim"] = small["qk_rope_head_dim"] + small["qk_nope_head_dim"]
    rope = small.get("rope_parameters")
    if isinstance(rope, dict) and rope.get("partial_rotary_factor") == turning / head:
        small["rope_parameters"] = {**rope, "partial_rotary_factor": small["qk_rope_head_dim"] / small["head_dim"]}


def _state_space(small: dict[Any, Any]) -> None:
    for heads, size, expand in STATE_HEADS:
        if whole(small.get(heads)) and size in small and small.get(expand):
            if whole(small[size]) or small[size] == "auto":
                small[size] = HEAD
            inner = small.get("mamba_d_ssm")
            small[heads] = (inner if whole(inner) else int(small[expand] * WIDTH)) // HEAD
    for key in STATE_GROUPS:
        if whole(small.get(key)):
            small[key] = min(small[key], 2)


def _axial(small: dict[Any, Any]) -> None:
    """Position embeddings that are put together from the axes of a grid make the width."""
    parts = small.get("axial_pos_embds_dim")
    if isinstance(parts, (list, tuple)) and whole(small.get("hidden_size")):
        small["axial_pos_embds_dim"] = _rescaled(list(parts), small["hidden_size"])


def _shuffled(small: dict[Any, Any]) -> None:
    """Where pixels are shuffled into channels before the first layer of an adapter, that layer is as wide as they."""
    ratio = small.get("pixel_shuffle_ratio")
    if isinstance(ratio, float) and whole(small.get("intermediate_size")):
        small["intermediate_size"] = int(WIDTH / ratio**2)


def _rotary(small: dict[Any, Any]) -> None:
    """Rotary sections add up to half of the head that turns."""
    head = small.get("head_dim")
    head = head if whole(head) else WIDTH // HEADS
    for key, value in small.items():
        if isinstance(key, str) and key.startswith("rope") and isinstance(value, dict):
            small[key] = _sections(value, head)
        elif key == "mrope_section" and isinstance(value, (list, tuple)):
            small[key] = _rescaled(list(value), head // 2)


def _sections(rope: dict[str, Any], head: int) -> dict[str, Any]:
    half = max(1, int(head * (rope.get("partial_rotary_factor") or 1)) // 2)
    return {key: _section(key, value, head, half) for key, value in rope.items()}


def _section(key: str, value: Any, head: int, half: int) -> Any:
    if isinstance(value, dict):
        return _sections(value, head)
    if key.endswith("_section") and isinstance(value, (list, tuple)):
        return _rescaled(list(value), half)
    if key in ("long_factor", "short_factor") and isinstance(value, (list, tuple)):
        return list(value)[: head // 2]
    return value


def _rescaled(parts: list[int], total: int) -> list[int]:
    """The parts in their proportions, none empty, adding up to the total."""
    if not sum(parts):
        return parts
    small = [max(1, part * total // sum(parts)) for part in parts]
    small[0] += total - sum(small)
    return small if small[0] > 0 else [1] * len(parts)

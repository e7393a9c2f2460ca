"""Chunks of linear attention that are no longer than the sequence give what longer ones give."""

from importlib import import_module

import pytest
import torch

from assay_runner.exporting.chunks import fitted

pytest.importorskip("transformers")
RULES = [("qwen3_next", "torch_chunk_gated_delta_rule", False), ("kimi_linear", "chunk_kimi_delta_attention", True)]


def inputs(length, by_channel):
    torch.manual_seed(length)
    query, key, value = (torch.randn(2, length, 3, 8) for _ in range(3))
    decay = -torch.rand(2, length, 3, *((8,) if by_channel else ()))
    return query, key, value, decay, torch.rand(2, length, 3)


def part_of(module):
    """A layer whose class is of a module."""
    return type("Part", (torch.nn.Module,), {"__module__": module.__name__})()


@pytest.mark.parametrize("length", [1, 5, 64, 70])
@pytest.mark.parametrize(("kind", "name", "by_channel"), RULES)
def test_chunks_are_as_long_as_the_sequence(kind, name, by_channel, length, monkeypatch):
    module = pytest.importorskip(f"transformers.models.{kind}.modeling_{kind}")
    sizes, own = [], getattr(module, name)

    def listening(query, key, value, g, beta, chunk_size=64, **kwargs):
        sizes.append(chunk_size)
        return own(query, key, value, g, beta, chunk_size=chunk_size, **kwargs)

    monkeypatch.setattr(module, name, listening)
    query, key, value, decay, beta = inputs(length, by_channel)
    rest = {"g": decay, "beta": beta, "initial_state": torch.randn(2, 3, 8, 8), "output_final_state": True}
    expected = own(query, key, value, **rest)
    with fitted(part_of(module)):
        found = getattr(import_module(module.__name__), name)(query, key, value, **rest)
    assert sizes == [min(length, 64)]
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-4, rtol=1e-4)
    assert getattr(module, name) is listening


def test_what_only_looks_like_it_stays():
    module = import_module("transformers.models.xlstm.modeling_xlstm")
    before = dict(vars(module))
    with fitted(part_of(module)):
        assert {name for name, own in vars(module).items() if own is not before.get(name)} == set()

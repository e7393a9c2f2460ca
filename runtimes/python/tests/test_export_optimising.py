import pytest
from onnxscript import rewriter
from torch.onnx._internal.exporter import _registration

from assay_runner.exporting import optimising


def test_rules_that_see_the_whole_graph_are_left_out():
    own = rewriter._DEFAULT_REWRITE_RULES
    with optimising.briefly():
        kept = rewriter._DEFAULT_REWRITE_RULES
    assert rewriter._DEFAULT_REWRITE_RULES is own
    left_out = [rule for rule in own if rule not in kept]
    assert 1 <= len(left_out) < 5
    assert all(not rule._target_pattern.has_single_output_node for rule in left_out)


def test_operators_are_read_once_and_are_all_there():
    plain = set(_registration.ONNXRegistry.from_torchlib().functions)
    with optimising.briefly():
        first = _registration.onnxscript_apis.get_torchlib_ops()
        assert _registration.onnxscript_apis.get_torchlib_ops() is first
        assert set(_registration.ONNXRegistry.from_torchlib().functions) == plain
    assert _registration.onnxscript_apis.get_torchlib_ops() is not first


def test_what_an_export_raises_restores_both():
    own = rewriter._DEFAULT_REWRITE_RULES
    with pytest.raises(ValueError, match="stopped"), optimising.briefly():
        raise ValueError("stopped")
    assert rewriter._DEFAULT_REWRITE_RULES is own

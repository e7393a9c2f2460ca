"""Faults of torch, of its exporters, and of onnxscript, which writes their graphs."""

import torch
from torch.nn import functional
from torch.onnx import OnnxExporterError

from reproducers._children import printed


class _Called(torch.nn.Module):
    """A function as a model."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def _exported(function, x):
    program = torch.export.export(_Called(function), (x,), strict=False)
    return torch.onnx.export(program, dynamo=True, verbose=False)


def onnxscript_writes_bags_as_loops():
    table = torch.arange(10.0).reshape(5, 2)
    program = _exported(lambda x: functional.embedding_bag(x, table, mode="sum"), torch.tensor([[0, 2], [4, 1]]))
    return bool({"Loop", "SequenceEmpty"} & {node.op_type for node in program.model.graph.all_nodes()})


def onnxscript_has_no_all_true():
    def checked(x):
        torch._check_tensor_all(x < 5)
        return x.exp()

    try:
        _exported(checked, torch.ones(3))
    except (OnnxExporterError, RuntimeError):
        return True
    return False


def onnxscript_matches_in_square_time():
    return _looks(200) > 3 * _looks(100)


def _looks(length):
    """How often nodes are looked at while a chain of so many is rewritten."""
    import onnx_ir
    from onnxscript import rewriter

    x = onnx_ir.val("x", onnx_ir.DataType.FLOAT, [2])
    nodes, value = [], x
    for _ in range(length):
        nodes.append(onnx_ir.node("Abs", [value]))
        value = nodes[-1].outputs[0]
    value.dtype, value.shape, value.name = x.dtype, x.shape, "y"
    model = onnx_ir.Model(onnx_ir.Graph([x], [value], nodes=nodes, opset_imports={"": 20}), ir_version=10)
    own, seen = onnx_ir.Node.op_identifier, []

    def counted(node):
        seen.append(node)
        return own(node)

    onnx_ir.Node.op_identifier = counted
    try:
        rewriter.rewrite(model)
    finally:
        onnx_ir.Node.op_identifier = own
    return len(seen)


def onnxscript_reads_operators_each_time():
    from torch.onnx._internal.exporter import _registration

    read = _registration.onnxscript_apis.get_torchlib_ops
    return read() is not read()


def torch_modes_import_the_compiler():
    code = """
import sys, torch
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
with Mode():
    torch.ones(2) + 1
print("torch._dynamo" in sys.modules)
"""
    return printed(code) == "True"


def torch_groups_no_products_in_64_bits():
    a, b = torch.ones(4, 16, dtype=torch.float64), torch.ones(2, 16, 16, dtype=torch.float64)
    try:
        functional.grouped_mm(a, b, offs=torch.tensor([2, 4], dtype=torch.int32))
    except (RuntimeError, NotImplementedError):
        return True
    return False

"""Attention with one row hidden by the lowest number, by torch and by what transformers' ONNX exporter uses instead."""

import torch
from torch.nn.functional import scaled_dot_product_attention as by_torch
from transformers.exporters import exporter_onnx, utils  # noqa: F401 - the first registers the replacements

torch.manual_seed(0)
x, mask = torch.randn(1, 1, 3, 4), torch.zeros(1, 1, 3, 3)
mask[..., 2, :] = torch.finfo(torch.float32).min
expected = by_torch(x, x, x, attn_mask=mask)[0, 0, 2]
with utils.apply_patches("onnx"):
    found = torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)[0, 0, 2]
print("mean of the values:", [round(v, 3) for v in x[0, 0].mean(0).tolist()])
print("torch:             ", [round(v, 3) for v in expected.tolist()])
print("exported:          ", [round(v, 3) for v in found.tolist()])
print("shows" if not torch.allclose(found, expected, atol=1e-5) else "gone")

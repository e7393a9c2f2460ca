"""Moshi's norm, whose epsilon is 1e-8, of a row of zeros: by torch, and exported."""

import numpy as np
import onnxruntime
import torch
from transformers.models.moshi.modeling_moshi import MoshiRMSNorm

norm = MoshiRMSNorm(4, eps=1e-8).eval()
program = torch.onnx.export(norm, (torch.ones(1, 4),), dynamo=True, verbose=False)
print("operators:", [node.op_type for node in program.model.graph])
session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
[found] = session.run(None, {session.get_inputs()[0].name: np.zeros((1, 4), np.float32)})
print("torch:   ", norm(torch.zeros(1, 4)).tolist())
print("exported:", found.tolist())
print("shows" if np.isnan(found).any() else "gone")

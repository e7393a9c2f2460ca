"""HunYuan-VL's rotary embedding, as its default configuration makes it."""

import torch
from transformers.models.hunyuan_vl import modeling_hunyuan_vl as hunyuan

rotary = hunyuan.HunYuanVLRotaryEmbedding(hunyuan.HunYuanVLTextConfig())
try:
    rotary(torch.zeros(1, 2, 8), torch.zeros(1, 2, dtype=torch.int64))
    print("gone")
except TypeError as error:
    print("TypeError:", error)
    print("shows")

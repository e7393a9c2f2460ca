"""Two texts with an image each: `image_index` of their positions, in one batch and each alone."""

import torch
from transformers.models.hunyuan_vl.configuration_hunyuan_vl import HunYuanVLConfig
from transformers.models.hunyuan_vl.modeling_hunyuan_vl import HunYuanVLModel

rope = {"mrope_section": [3, 3, 2], "rope_theta": 10000.0, "rope_type": "default"}
text = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "head_dim": 16, "vocab_size": 256}
vision = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "text_hidden_size": 64}
config = HunYuanVLConfig(text_config={**text, "rope_parameters": rope}, vision_config=vision)
with torch.device("meta"):
    model = HunYuanVLModel(config)
marks = torch.tensor([[0] * 2 + [1] * 8 + [0] * 2])  # 2 × 2 merged patches, a newline a row, a start and an end
ids, grid = torch.arange(12)[None], torch.tensor([[1, 4, 4]])
alone = model.get_rope_index(ids, marks, grid)[0][2, 0, 3:9].tolist()
both = model.get_rope_index(ids.repeat(2, 1), marks.repeat(2, 1), grid.repeat(2, 1))[0][2, :, 3:9].tolist()
print(f"alone: {alone}; in a batch: {both[0]} and {both[1]}")
print("shows" if both[0] == alone != both[1] else "gone")

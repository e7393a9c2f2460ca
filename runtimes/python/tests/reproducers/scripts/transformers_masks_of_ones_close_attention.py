"""An image encoder given a mask of ones: does its first patch see the last one?"""

import torch
from transformers import Phi4MultimodalVisionConfig
from transformers.models.phi4_multimodal.modeling_phi4_multimodal import Phi4MultimodalVisionModel

torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
model = Phi4MultimodalVisionModel(Phi4MultimodalVisionConfig(image_size=56, crop_size=56, **sizes)).eval()
pixels, mask, moved = torch.randn(1, 3, 56, 56), torch.ones(1, 4, 4, dtype=torch.bool), {}
changed = pixels.clone()
changed[..., 42:, 42:] = 0  # the last of sixteen patches
for kind in ("eager", "sdpa"):
    model.set_attn_implementation(kind)
    with torch.no_grad():
        a, b = (model(x, patch_attention_mask=mask).last_hidden_state[:, 0] for x in (pixels, changed))
    moved[kind] = (a - b).abs().max().item()
    print(f"{kind}: the first patch moved by {moved[kind]:.3g}")
print("shows" if moved["eager"] > 1e-4 and moved["sdpa"] == 0 else "gone")

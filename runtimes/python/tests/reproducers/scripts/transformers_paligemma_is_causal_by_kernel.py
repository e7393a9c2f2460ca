"""PaliGemma without token types: do earlier tokens change with a later one?"""

import torch
from transformers import PaliGemmaConfig, PaliGemmaForConditionalGeneration

torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
vision = {"model_type": "siglip_vision_model", "image_size": 28, "patch_size": 14, "projection_dim": 16, **sizes}
text = {"model_type": "gemma", "vocab_size": 60, "num_key_value_heads": 1, "head_dim": 8, **sizes}
config = PaliGemmaConfig(vision_config=vision, text_config=text, image_token_index=59, projection_dim=16)
model, moved = PaliGemmaForConditionalGeneration(config).eval(), {}
ids, pixels = torch.tensor([[59, 59, 59, 59, 2, 5, 6, 7, 8]]), torch.randn(1, 3, 28, 28)
for kind in ("eager", "sdpa"):
    model.set_attn_implementation(kind)
    with torch.no_grad():
        a, b = (model(x, pixel_values=pixels).logits[:, :8] for x in (ids, ids + (ids == 8)))
    moved[kind] = (a - b).abs().max().item()
    print(f"{kind}: the first eight tokens moved by {moved[kind]:.3g}")
print("shows" if moved["eager"] == 0 and moved["sdpa"] > 1e-4 else "gone")

"""A mask that hides the last three tokens: do they change what the others give?"""

import torch
from transformers import YosoConfig, YosoModel

torch.manual_seed(0)
sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = YosoModel(YosoConfig(vocab_size=50, use_expectation=True, conv_window=None, **sizes)).eval()
for p in model.parameters():
    p.data.normal_(0, 0.3) if p.dim() > 1 else None
ids = torch.arange(5, 15)[None]
other = torch.cat([ids[:, :7], ids[:, 7:] + 20], 1)
mask = (torch.arange(10) < 7).long()[None]
with torch.no_grad():
    one, two = (model(input_ids=x, attention_mask=mask).last_hidden_state[:, :7] for x in (ids, other))
moved = ((one - two).abs().max() / one.abs().max()).item()
print(f"visible tokens moved by {moved:.2g} of the largest output when hidden ones changed")
print("shows" if moved > 1e-3 else "gone")

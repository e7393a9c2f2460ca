"""A decoder that predicts two tokens at once: does what it says of earlier tokens depend on how many follow?"""

import torch
from transformers import ProphetNetConfig, ProphetNetDecoder

torch.manual_seed(0)
sizes = {"hidden_size": 16, "num_decoder_layers": 1, "num_decoder_attention_heads": 2, "decoder_ffn_dim": 16}
model = ProphetNetDecoder(ProphetNetConfig(vocab_size=50, ngram=2, add_cross_attention=False, **sizes)).eval()
for p in model.parameters():
    p.data.normal_(0, 0.3) if p.dim() > 1 else None
ids, off = torch.arange(5, 15)[None], {}
with torch.no_grad():
    long, short = model(input_ids=ids, use_cache=False), model(input_ids=ids[:, :7], use_cache=False)
for name, streams in (("last_hidden_state", 1), ("last_hidden_state_ngram", 2)):
    one, two = (given[name].view(streams, -1, 16)[:, :7] for given in (long, short))
    off[name] = (one - two).abs().max().item()
    print(f"{name} of the first seven of ten tokens is off by {off[name]:.2g}")
print("shows" if off["last_hidden_state_ngram"] > 1e-3 > off["last_hidden_state"] else "gone")

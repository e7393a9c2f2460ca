"""A decoder's prompt of five tokens, with a cache and without: does the first position see the last token?"""

import torch
from transformers import FSMTConfig, FSMTModel

torch.manual_seed(0)
layers = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
sizes = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "src_vocab_size": 50, "tgt_vocab_size": 50}
model = FSMTModel(FSMTConfig(langs=["en", "de"], **layers, **sizes)).eval()
for p in model.parameters():
    p.data.normal_(0, 0.3) if p.dim() > 1 else None
source, target, moved = torch.arange(5, 12)[None], torch.arange(5, 10)[None], {}
other = torch.cat([target[:, :-1], target[:, -1:] + 20], 1)
for cached in (False, True):
    with torch.no_grad():
        one, two = (model(source, decoder_input_ids=x, use_cache=cached).last_hidden_state for x in (target, other))
    moved[cached] = (one - two)[:, 0].abs().max().item()
    print(f"use_cache={cached}: the first position moved by {moved[cached]:.2g} when the last token changed")
print("shows" if moved[True] > 1e-3 > moved[False] else "gone")

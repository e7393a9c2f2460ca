"""The encoder of a speech synthesiser: a text alone, and padded by three tokens that the mask hides."""

import torch
from transformers import FastSpeech2ConformerConfig, FastSpeech2ConformerModel

torch.manual_seed(0)
part = {"num_attention_heads": 2, "layers": 1, "linear_units": 16, "normalize_before": False, "concat_after": False}
part |= {"attention_dropout_rate": 0.0, "dropout_rate": 0.0, "positional_dropout_rate": 0.0, "kernel_size": 7}
config = FastSpeech2ConformerConfig(hidden_size=16, vocab_size=50, encoder_config=part, decoder_config=part)
model = FastSpeech2ConformerModel(config).eval()
for p in model.parameters():
    p.data.normal_(0, 0.3) if p.dim() > 1 else None
ids = torch.arange(5, 15)[None]
padded, mask = torch.cat([ids, torch.zeros(1, 3).long()], 1), (torch.arange(13) < 10).long()[None]
with torch.no_grad():
    alone = model.encoder(ids, attention_mask=torch.ones(1, 1, 10).long())[0]
    beside = model.encoder(padded, attention_mask=mask[:, None])[0][:, :10]
off = ((alone - beside).abs().amax((0, 2)) / alone.abs().max()).tolist()
print("ten tokens are off by", ", ".join(f"{x:.2g}" for x in off))
print("shows" if max(off) > 1e-3 else "gone")

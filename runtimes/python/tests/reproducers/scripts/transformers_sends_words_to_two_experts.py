"""A router chooses two of four experts for each word: how many words does each expert get?"""

import torch
from transformers.models.nllb_moe.configuration_nllb_moe import NllbMoeConfig
from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeSparseMLP

torch.manual_seed(0)
layer = NllbMoeSparseMLP(NllbMoeConfig(d_model=16, num_experts=4, moe_token_dropout=0.0), 32).eval()
got = dict.fromkeys(range(4), 0)
for number in got:
    add = f"expert_{number}", lambda _, args, number=number: got.update({number: got[number] + args[0].shape[0]})
    layer.experts[add[0]].register_forward_pre_hook(add[1])
words = torch.randn(1, 32, 16)
with torch.no_grad():
    layer(words)
    chosen = layer.router(words.view(32, 16))[1].gt(0).sum(0).tolist()  # weights above zero, by expert
print("chosen by the router:", chosen)
print("words that each got: ", list(got.values()))
print("shows" if chosen != list(got.values()) else "gone")

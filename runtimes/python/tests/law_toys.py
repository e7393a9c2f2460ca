"""A language model of a few lines that obeys every law, and breaks one when it is told to."""

import torch
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast

from assay_runner.subjects.programs import building

WIDTH, WORDS = 16, 64

RECIPE = {
    "type": "toy",
    "class": "Toy",
    "size": "tiny",
    "config": {},
    "sizes": {"seq": 12},
    "inputs": [
        {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 5, "high": WORDS},
        {"name": "attention_mask", "kind": "ones", "dtype": "int64", "shape": ["batch", "seq"]},
    ],
    "call": {"use_cache": False},
    "rounding": {"fp32": {"logits": [3e-7, 4e-7]}},
}


class ToyConfig(PretrainedConfig):
    model_type = "assay_toy"

    def __init__(self, attention_dropout=0.1, pad_token_id=0, **kwargs):
        super().__init__(**kwargs)
        self.vocab_size, self.hidden_size, self.num_hidden_layers, self.num_attention_heads = WORDS, WIDTH, 1, 1
        self.attention_dropout, self.pad_token_id = attention_dropout, pad_token_id


class Toy(PreTrainedModel, GenerationMixin):
    config_class = ToyConfig
    _supports_sdpa = True
    fault = ""

    def __init__(self, config):
        super().__init__(config)
        self.words, self.places = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Embedding(64, WIDTH)
        self.qkv, self.head = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WORDS)
        self.drop, self.runs = torch.nn.Dropout(0.1), 0
        self.post_init()

    def forward(
        self, input_ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None, **kwargs
    ):
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        past = past_key_values.get_seq_length() if past_key_values is not None else 0
        if position_ids is None:
            position_ids = (past + torch.arange(input_ids.shape[1]))[None]
        if self.fault == "cache" and past:
            position_ids = position_ids - 1
        x = self.words(input_ids) + self.places(position_ids)
        q, k, v = self.qkv(x)[:, None].chunk(3, dim=-1)
        if past_key_values is not None:
            k, v = past_key_values.update(k, v, 0)
        x = self.drop(x + self.attended(q, k, v, attention_mask, past)[:, 0])
        return CausalLMOutputWithPast(logits=self.head(self.broken(x)), past_key_values=past_key_values)

    def attended(self, q, k, v, attention_mask, past):
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
        if self.fault != "causality":
            seen = seen.tril(past)
        if attention_mask is not None and self.fault != "padding":
            seen = seen & attention_mask[:, None, None, : k.shape[-2]].bool()
        if self.config._attn_implementation == "sdpa":
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, seen)
        scores = q @ k.transpose(-1, -2) * WIDTH ** (-0.4 if self.fault == "attention" else -0.5)
        return scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1) @ v

    def broken(self, x):
        self.runs += 1
        if self.fault == "batch":
            return x + 0.01 * x.mean(0, keepdim=True) * (len(x) - 1)
        if self.fault == "training" and self.training:
            return 1.01 * x
        return x + 0.001 * self.runs if self.fault == "repetition" else x

    def state_dict(self, *args, **kwargs):
        state = super().state_dict(*args, **kwargs)
        return {name: t.half().float() for name, t in state.items()} if self.fault == "saving" else state


def built():
    torch.manual_seed(0)
    model = Toy(ToyConfig())
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    model.eval()
    return building.Built(model, 0, building.attention_of(model), {"weights": "given"})


def forward(model, tensors):
    with torch.inference_mode():
        return {"logits": model(**tensors, use_cache=False).logits}

"""Recipes written by hand, small enough to run in milliseconds, for the tests of the torch engine."""

TEXT = [
    {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 5, "high": 196},
    {"name": "attention_mask", "kind": "ones", "dtype": "int64", "shape": ["batch", "seq"]},
]
PIXELS = [{"name": "pixel_values", "kind": "float", "dtype": "float32", "shape": ["batch", 3, "image", "image"]}]

BERT = {
    "type": "bert",
    "class": "BertForMaskedLM",
    "config_class": "BertConfig",
    "task": "fill-mask",
    "size": "tiny",
    "config": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 256,
        "max_position_embeddings": 128,
    },
    "sizes": {"seq": 16},
    "inputs": TEXT,
    "call": {},
    "gain": 4.0,
    "control": {"kind": "zero-attention"},
    "parameters": 100000,
}

LLAMA = {
    "type": "llama",
    "class": "LlamaForCausalLM",
    "config_class": "LlamaConfig",
    "task": "text-generation",
    "size": "tiny",
    "config": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "vocab_size": 256,
        "max_position_embeddings": 128,
        "tie_word_embeddings": True,
    },
    "sizes": {"seq": 16},
    "inputs": TEXT,
    "call": {"use_cache": False},
    "gain": 6.0,
    "control": {"kind": "zero-mlp"},
    "parameters": 100000,
}

VIT = {
    "type": "vit",
    "class": "ViTForImageClassification",
    "config_class": "ViTConfig",
    "task": "image-classification",
    "size": "tiny",
    "config": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "image_size": 32,
        "patch_size": 8,
    },
    "sizes": {"image": 32},
    "inputs": PIXELS,
    "call": {},
    "gain": 4.0,
    "control": {"kind": "zero-attention"},
    "parameters": 100000,
}

DETR = {
    "type": "detr",
    "class": "DetrForObjectDetection",
    "config_class": "DetrConfig",
    "task": "object-detection",
    "size": "tiny",
    "config": {
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone": None,
        "backbone_config": {
            "model_type": "resnet",
            "embedding_size": 16,
            "hidden_sizes": [16, 32, 32, 64],
            "depths": [1, 1, 1, 1],
            "out_features": ["stage4"],
        },
        "d_model": 64,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128,
        "num_queries": 8,
    },
    "sizes": {"image": 64},
    "inputs": PIXELS,
    "call": {},
    "gain": 2.0,
    "control": {"kind": "other-input"},
    "parameters": 300000,
}

WHISPER = {
    "type": "whisper",
    "class": "WhisperForConditionalGeneration",
    "config_class": "WhisperConfig",
    "task": "automatic-speech-recognition",
    "size": "tiny",
    "config": {
        "d_model": 64,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128,
        "vocab_size": 256,
        "num_mel_bins": 16,
        "max_source_positions": 32,
        "max_target_positions": 32,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
    },
    "sizes": {"seq": 8, "frames": 64},
    "inputs": [
        {"name": "input_features", "kind": "float", "dtype": "float32", "shape": ["batch", 16, "frames"]},
        {**TEXT[0], "name": "decoder_input_ids"},
    ],
    "call": {"use_cache": False},
    "gain": 4.0,
    "control": {"kind": "zero-attention"},
    "parameters": 300000,
}

T5 = {
    "type": "t5",
    "class": "T5ForConditionalGeneration",
    "config_class": "T5Config",
    "task": "text2text-generation",
    "size": "tiny",
    "config": {
        "vocab_size": 256,
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 128,
        "num_layers": 1,
        "num_decoder_layers": 1,
        "num_heads": 4,
    },
    "sizes": {"seq": 8},
    "inputs": [*TEXT, {**TEXT[0], "name": "decoder_input_ids"}],
    "call": {"use_cache": False},
    "gain": 1.0,
    "control": {"kind": "zero-attention"},
    "parameters": 110000,
}

ALL = {r["type"]: r for r in (BERT, LLAMA, VIT, DETR, WHISPER)}

package weights

import (
	"encoding/json"
)

// OfConfig is the size that a config.json works out to, for types whose layers
// have a form that is known here; else unknown. Biases, norms and heads for tasks are
// left out or guessed: it is right within some percent.
func OfConfig(config []byte) Size {
	var c numbers
	var kind struct {
		Type string `json:"model_type"`
	}
	if json.Unmarshal(config, &kind) != nil || json.Unmarshal(config, &c.raw) != nil {
		return Size{}
	}
	form, ok := forms[kind.Type]
	if !ok || c.raw["quantization_config"] != nil { // packed weights are as large as they are stored
		return Size{}
	}
	n := form(&c)
	if c.missing || n <= 0 || n > 1e15 {
		return Size{}
	}
	return Size{Parameters: int64(n), About: true, Source: "worked out from its config.json"}
}

// numbers reads a configuration. A number that is not there, and has no other
// value to stand for it, makes it unknown.
type numbers struct {
	raw     map[string]any
	missing bool
}

// of is the first of these names that is there.
func (c *numbers) of(names ...string) float64 {
	for _, n := range names {
		if v, ok := c.raw[n].(float64); ok && v > 0 && v < 1e9 {
			return v
		}
	}
	c.missing = true
	return 0
}

// or is a number, or another where it is not there.
func (c *numbers) or(other float64, names ...string) float64 {
	for _, n := range names {
		if v, ok := c.raw[n].(float64); ok && v >= 0 && v < 1e9 {
			return v
		}
	}
	return other
}

// embeddings counts the input's and, unless they are one, the output's.
func (c *numbers) embeddings(tied bool) float64 {
	if t, ok := c.raw["tie_word_embeddings"].(bool); ok {
		tied = t
	}
	if tied {
		return 1
	}
	return 2
}

// forms are how types are built, by model_type.
var forms = map[string]func(*numbers) float64{
	"bert": encoder, "roberta": encoder, "xlm-roberta": encoder, "camembert": encoder, "mpnet": encoder, "layoutlm": encoder,
	"vit": picture, "deit": picture, "videomae": picture,
	"gpt2": gpt2, "gpt_neox": neox, "opt": opt, "t5": t5, "bart": bart, "mbart": bart, "marian": bart, "pegasus": bart, "whisper": whisper,
	"llama": gated(false), "mistral": gated(false), "mixtral": gated(false), "qwen2": gated(false), "qwen3": gated(false), "qwen3_moe": gated(false),
	"olmo": gated(false), "olmo2": gated(false), "olmoe": gated(false), "phi3": gated(false), "granite": gated(false), "granitemoe": gated(false),
	"gemma": gated(true), "gemma2": gated(true), "cohere": gated(true), "smollm3": gated(true), "seed_oss": gated(false),
}

// gated are decoders with grouped attention and a gated network of three
// matrices, or many of them that a router chooses from.
func gated(tied bool) func(*numbers) float64 {
	return func(c *numbers) float64 {
		width, heads := c.of("hidden_size"), c.of("num_attention_heads")
		if c.missing {
			return 0
		}
		head, groups := c.or(width/heads, "head_dim"), c.or(heads, "num_key_value_heads")
		attention := width*head*heads*2 + width*head*groups*2
		network := 3 * width * c.of("intermediate_size")
		if experts := c.or(0, "num_local_experts", "num_experts"); experts > 0 {
			network = 3*width*c.or(c.of("intermediate_size"), "moe_intermediate_size")*experts + width*experts
		}
		return c.of("vocab_size")*width*c.embeddings(tied) + c.of("num_hidden_layers")*(attention+network+2*width)
	}
}

// encoder has positions and segments beside its words, and two matrices a network.
func encoder(c *numbers) float64 {
	width := c.of("hidden_size")
	words := c.of("vocab_size") + c.or(512, "max_position_embeddings") + c.or(2, "type_vocab_size")
	if c.raw["max_2d_position_embeddings"] != nil {
		words += 4 * c.of("max_2d_position_embeddings")
	}
	return words*width + c.of("num_hidden_layers")*layer(width, c.of("intermediate_size")) + width*width
}

// layer has four square matrices of attention and two of its network.
func layer(width, inner float64) float64 { return 4*width*width + 2*width*inner + 9*width + inner }

func picture(c *numbers) float64 {
	width := c.of("hidden_size")
	return c.of("num_hidden_layers")*layer(width, c.of("intermediate_size")) + 2000*width
}

func gpt2(c *numbers) float64 {
	width := c.of("n_embd")
	return (c.of("vocab_size")+c.or(1024, "n_positions"))*width + c.of("n_layer")*layer(width, c.or(4*width, "n_inner"))
}

func neox(c *numbers) float64 {
	width := c.of("hidden_size")
	return c.of("vocab_size")*width*c.embeddings(false) + c.of("num_hidden_layers")*layer(width, c.of("intermediate_size"))
}

func opt(c *numbers) float64 {
	width := c.of("hidden_size")
	return (c.of("vocab_size")+c.or(2048, "max_position_embeddings"))*width + c.of("num_hidden_layers")*layer(width, c.of("ffn_dim"))
}

// t5 has attention of a width of its own, and in its decoder twice of it.
func t5(c *numbers) float64 {
	width := c.of("d_model")
	attention := 4 * width * c.of("d_kv") * c.of("num_heads")
	network := 2 * width * c.of("d_ff")
	if act, _ := c.raw["feed_forward_proj"].(string); len(act) > 6 && act[:6] == "gated-" {
		network = 3 * width * c.of("d_ff")
	}
	layers := c.of("num_layers")
	return c.of("vocab_size")*width*c.embeddings(true) + layers*(attention+network) + c.or(layers, "num_decoder_layers")*(2*attention+network)
}

// sides are an encoder's layers and a decoder's, which attend twice.
func sides(c *numbers) float64 {
	width := c.of("d_model")
	return c.of("encoder_layers")*layer(width, c.of("encoder_ffn_dim")) +
		c.of("decoder_layers")*(layer(width, c.of("decoder_ffn_dim"))+4*width*width)
}

func bart(c *numbers) float64 {
	return (c.of("vocab_size")+2*c.or(1024, "max_position_embeddings"))*c.of("d_model") + sides(c)
}

func whisper(c *numbers) float64 {
	width := c.of("d_model")
	return (c.of("vocab_size")+c.or(448, "max_target_positions")+c.or(1500, "max_source_positions"))*width +
		3*width*(c.or(80, "num_mel_bins")+width) + sides(c)
}

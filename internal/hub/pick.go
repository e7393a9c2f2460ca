package hub

import (
	"path"
	"slices"
	"strings"
)

// Want says what to load of a model.
type Want struct {
	ConfigOnly bool // just config.json
	Pickle     bool // pickled weights too, where there are no others
	Code       bool // the model's own Python files too
}

// Format is how weights are written.
type Format string

// The formats that can be loaded.
const (
	Safetensors Format = "safetensors"
	Pickle      Format = "pickle"
)

// described are the files that say what a model is and how its inputs are
// made. They are small; whoever has them needs no network for a tokenizer.
var described = []string{
	"config.json", "generation_config.json",
	"*processor_config.json", "processor_config.json", // preprocessor_config.json, video_preprocessor_config.json
	"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"vocab.json", "vocab.txt", "merges.txt", "*.model", "*.tiktoken", "chat_template.json", "chat_template.jinja",
	"modules.json", "*_Pooling/config.json", // how sentence-transformers makes one vector of many
}

// kinds are the weights that loaders look for, in their own order.
var kinds = []struct {
	name   string
	index  bool // it names the files that hold the weights
	format Format
}{
	{"model.safetensors", false, Safetensors},
	{"model.safetensors.index.json", true, Safetensors},
	{"pytorch_model.bin", false, Pickle},
	{"pytorch_model.bin.index.json", true, Pickle},
}

// pickled and foreign are endings of weights that can run code when they are
// read, and of weights for other frameworks.
var (
	pickled = []string{".bin", ".pt", ".pth", ".ckpt", ".pkl"}
	foreign = []string{".h5", ".msgpack", ".onnx", ".gguf", ".ot", ".tflite", ".safetensors"}
)

// wanted reports whether a file that holds no weights is to be loaded.
func (w Want) wanted(name string) bool {
	if w.ConfigOnly {
		return name == "config.json"
	}
	if w.Code && path.Ext(name) == ".py" {
		return true
	}
	return slices.ContainsFunc(described, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // the table's patterns are well formed
		return ok
	})
}

// weights says which of these files a loader would begin with.
type weights struct {
	Name   string
	Index  bool
	Format Format
}

// pick finds a model's weights among the names of its files. where begins the
// sentence when there are none.
func pick(names []string, where string, w Want) (weights, error) {
	for _, k := range kinds {
		if (k.format == Safetensors || w.Pickle) && slices.Contains(names, k.name) {
			return weights{k.name, k.index, k.format}, nil
		}
	}
	for _, k := range kinds {
		if slices.Contains(names, k.name) {
			return weights{}, refusePickle(where, k.name)
		}
	}
	has := func(endings []string) string {
		i := slices.IndexFunc(names, func(n string) bool { return slices.Contains(endings, strings.ToLower(path.Ext(n))) })
		if i < 0 {
			return ""
		}
		return names[i]
	}
	if name := has(pickled); name != "" {
		return weights{}, refusePickle(where, name)
	}
	if name := has(foreign); name != "" {
		return weights{}, &Error{Kind: NoWeights, Problem: where + " holds no weights that transformers looks for, only others, such as " + quoted(name),
			Hint: "they must be in model.safetensors, or in files that model.safetensors.index.json names"}
	}
	return weights{}, &Error{Kind: NoWeights, Problem: where + " holds no weights", Hint: "name another model or revision, or use --weights random"}
}

func refusePickle(where, name string) error {
	hint := "convert them to safetensors, or give --allow-pickle: torch then reads plain tensors from it and refuses code"
	if !strings.HasPrefix(name, "pytorch_model.bin") {
		hint = "convert them to model.safetensors"
	}
	return &Error{Kind: Pickled, Problem: where + " holds its weights only as a pickle (" + quoted(name) + "), which can run code when it is read", Hint: hint}
}

package weights

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"
)

// What is worked out from a configuration is near what was counted on the model
// itself, for every checkpoint whose count is known.
func TestOfConfigAgainstCounts(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, k := range cat.Checkpoints() {
		raw, err := cat.Recipe(k.Type, "", cell.Full, k.Name)
		if err != nil {
			raw, err = cat.Recipe(k.Type, k.Task, cell.Full, k.Name)
		}
		var recipe struct{ Config map[string]any }
		if err == nil {
			err = json.Unmarshal(raw, &recipe)
		}
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		recipe.Config["model_type"] = k.Type
		text, err := json.Marshal(recipe.Config)
		if err != nil {
			t.Fatal(err)
		}
		s := OfConfig(text)
		if !s.Known() {
			continue
		}
		seen[k.Type] = true
		if off := math.Abs(float64(s.Parameters)/float64(k.Parameters) - 1); off > 0.04 || !s.About {
			t.Errorf("%s: %d parameters worked out, %d counted", k.Name, s.Parameters, k.Parameters)
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d types were compared: %v", len(seen), seen)
	}
}

// The same for well-known models that the catalogue does not have.
func TestOfConfigAgainstPublished(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]int64{
		`{"model_type":"llama","hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32,"vocab_size":32000}`:                                                                                          6738415616,
		`{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false}`:                                     8030261248,
		`{"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":8,"vocab_size":32000}`:                                          46702792704,
		`{"model_type":"gemma","hidden_size":2048,"intermediate_size":16384,"num_hidden_layers":18,"num_attention_heads":8,"num_key_value_heads":1,"head_dim":256,"vocab_size":256000}`:                                                   2506172416,
		`{"model_type":"gemma2","hidden_size":3584,"intermediate_size":14336,"num_hidden_layers":42,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":256,"vocab_size":256000}`:                                                 9241705984,
		`{"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,"vocab_size":32064}`:                                                                   3821079552,
		`{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"vocab_size":151936}`: 30532122624,
	} {
		if s := OfConfig([]byte(config)); math.Abs(float64(s.Parameters)/float64(want)-1) > 0.01 {
			t.Errorf("%s: %d, want %d", config, s.Parameters, want)
		}
	}
	for _, config := range []string{"", "{", "[]", "{}", `{"model_type":"new"}`, `{"model_type":"llama"}`, `{"model_type":"llama","hidden_size":"x"}`, `{"model_type":"bert","hidden_size":-3}`} {
		if s := OfConfig([]byte(config)); s.Known() || s.String() != "size not checked" || s.In(platform.FP32) != 0 {
			t.Errorf("%s: %+v", config, s)
		}
	}
}

// tensor is one of a safetensors file that a test writes.
type tensor struct {
	name, dtype string
	shape       []int
	bytes       int
}

func write(t *testing.T, dir string, tensors ...tensor) {
	t.Helper()
	header, at := map[string]any{}, 0
	for _, x := range tensors {
		header[x.name] = map[string]any{"dtype": x.dtype, "shape": x.shape, "data_offsets": []int{at, at + x.bytes}}
		at += x.bytes
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	n := len(text)
	file := append([]byte{byte(n), byte(n >> 8), 0, 0, 0, 0, 0, 0}, text...)
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), append(file, make([]byte, at)...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Packed weights count as what they stand for, and weigh what is stored.
func TestOfFolder(t *testing.T) {
	t.Parallel()
	gptq := `{"quantization_config":{"quant_method":"gptq","bits":4}}`
	linear := []tensor{{"a.qweight", "I32", []int{8, 64}, 2048}, {"a.qzeros", "I32", []int{1, 8}, 32}, {"a.scales", "F16", []int{1, 64}, 128}, {"a.g_idx", "I32", []int{64}, 256}}
	embedding := tensor{"e.weight", "F16", []int{10, 64}, 1280}
	for name, x := range map[string]struct {
		config     string
		tensors    []tensor
		parameters int64
		packed     string
	}{
		"plain":            {`{}`, []tensor{embedding, {"p.position_ids", "I64", []int{1, 4}, 32}}, 640, ""},
		"gptq":             {gptq, append(linear, embedding), 64*64 + 640, "gptq, 4 bits"},
		"awq":              {strings.Replace(gptq, "gptq", "awq", 1), linear, 64 * 64, "awq, 4 bits"},
		"8 bits in 32":     {strings.Replace(gptq, "4", "8", 1), linear, 64 * 32, "gptq, 8 bits"},
		"nobody tells":     {`{}`, linear, 0, "packed"},
		"bitsandbytes 4":   {`{"quantization_config":{"quant_method":"bitsandbytes","load_in_4bit":true}}`, []tensor{{"a.weight", "U8", []int{2048, 1}, 2048}, {"a.weight.absmax", "F32", []int{64}, 256}, {"a.weight.quant_state.bitsandbytes__nf4", "U8", []int{80}, 80}}, 4096, "bitsandbytes, 4 bits"},
		"bitsandbytes 8":   {`{"quantization_config":{"quant_method":"bitsandbytes","load_in_8bit":true}}`, []tensor{{"a.weight", "I8", []int{64, 64}, 4096}, {"a.SCB", "F32", []int{64}, 256}}, 4096, "bitsandbytes, 8 bits"},
		"compressed":       {`{"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":4}}}}}`, []tensor{{"a.weight_packed", "I32", []int{64, 8}, 2048}, {"a.weight_shape", "I64", []int{2}, 16}, {"a.weight_scale", "BF16", []int{64, 1}, 128}}, 4096, "compressed-tensors, 4 bits"},
		"mxfp4":            {`{"quantization_config":{"quant_method":"mxfp4"}}`, []tensor{{"a.w_blocks", "U8", []int{4, 8, 16}, 512}, {"a.w_scales", "U8", []int{4, 8}, 32}}, 1024, "mxfp4, 4 bits"},
		"fp8":              {`{"quantization_config":{"quant_method":"fp8"}}`, []tensor{{"a.weight", "F8_E4M3", []int{64, 64}, 4096}, {"a.weight_scale_inv", "F32", []int{1, 1}, 4}}, 4096, "fp8"},
		"a strange number": {strings.Replace(gptq, "4", "77", 1), linear, 0, "gptq"},
	} {
		dir := t.TempDir()
		write(t, dir, x.tensors...)
		s := OfFolder(dir, []byte(x.config))
		stored := 0
		for _, one := range x.tensors {
			stored += one.bytes
		}
		if s.Parameters != x.parameters || s.Packed != x.packed || s.Stored < int64(stored) || x.packed != "" && s.In(platform.FP32) != s.Stored {
			t.Errorf("%s: %+v", name, s)
		}
	}
	dir := t.TempDir()
	if s := OfFolder(dir, nil); s.Known() {
		t.Errorf("an empty folder: %+v", s)
	}
	for name, size := range map[string]int{"model.safetensors": 3, "pytorch_model.bin": 4000} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := OfFolder(dir, nil); name == "model.safetensors" && s.Known() {
			t.Errorf("a damaged file: %+v", s)
		}
	}
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if s := OfFolder(dir, []byte(`{"torch_dtype":"float16"}`)); s.Parameters != 2000 || !s.About {
		t.Errorf("a pickle: %+v", s)
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		s    Size
		want string
	}{
		{Size{Parameters: 109514298, Source: "counted"}, "110 million parameters, 0.4 GB in fp32, 0.2 GB in fp16 (counted)"},
		{Size{Parameters: 7e9, Stored: 39e8, Packed: "gptq, 4 bits", Source: "by the headers of its files"}, "7 billion parameters, 3.9 GB as stored (gptq, 4 bits) (by the headers of its files)"},
		{Size{Stored: 12e6, Packed: "packed", Source: "x"}, "12 MB as stored (packed) (x)"},
		{Size{Parameters: 999, About: true, Source: "x"}, "about 999 parameters, 4 kB in fp32, 2 kB in fp16 (x)"},
	} {
		if got := fmt.Sprint(x.s); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

func FuzzOfConfig(f *testing.F) {
	f.Add(`{"model_type":"llama","hidden_size":4096,"num_attention_heads":0}`)
	f.Fuzz(func(t *testing.T, text string) {
		if s := OfConfig([]byte(text)); s.Parameters < 0 {
			t.Error(s)
		}
	})
}

package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const older = `{"schema":1,"transformers":"4.51.0","types":[
{"type":"t5","config_class":"T5Config","class":"T5Model","task":"feature-extraction","heads":[{"task":"feature-extraction","class":"T5Model"}],"family":"encoder-decoder","families":["encoder-decoder"],"priority":"high"},
{"type":"bert","config_class":"BertConfig","class":"BertModel","task":"feature-extraction","heads":[{"task":"feature-extraction","class":"BertModel"}],"family":"encoder-only","families":["encoder-only"],"priority":"high"}]}`

func TestWithFile(t *testing.T) {
	t.Parallel()
	c := load(t)
	path := filepath.Join(t.TempDir(), "types.json")
	if err := os.WriteFile(path, []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := c.WithFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if other.Transformers != "4.51.0" || other.Count(Transformers) != 2 {
		t.Errorf("refreshed: transformers %s, %d types", other.Transformers, other.Count(Transformers))
	}
	if other.Diffusers != c.Diffusers || other.Count(Diffusers) != c.Count(Diffusers) {
		t.Errorf("what was not read again changed: diffusers %q, %d pipelines", other.Diffusers, other.Count(Diffusers))
	}
	if _, err := other.Resolve("llama"); err == nil {
		t.Error("a type that the other release lacks is still there")
	}
	if _, ok := c.Get("llama"); !ok {
		t.Error("refreshing changed the catalogue it began with")
	}
}

func TestWithPipelines(t *testing.T) {
	t.Parallel()
	c := load(t)
	other, err := c.With([]byte(`{"schema":1,"diffusers":"0.99","types":[{"type":"flux","library":"diffusers","class":"FluxPipeline","family":"diffusion"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if other.Diffusers != "0.99" || other.Count(Diffusers) != 1 || other.Count(Transformers) != c.Count(Transformers) {
		t.Errorf("diffusers %s with %d pipelines beside %d types", other.Diffusers, other.Count(Diffusers), other.Count(Transformers))
	}
}

func TestWithRefuses(t *testing.T) {
	t.Parallel()
	c := load(t)
	for text, says := range map[string]string{
		"not JSON":                    "cannot parse",
		`{"schema":2,"types":[]}`:     "update the older",
		`{"schema":1,"types":[]}`:     "no types",
		`{"schema":1,"types":"bert"}`: "cannot parse",
	} {
		if _, err := c.With([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want one with %q", text, err, says)
		}
	}
	if _, err := c.WithFile(filepath.Join(t.TempDir(), "absent.json")); err == nil {
		t.Error("a file that is not there reads")
	}
}

func FuzzWith(f *testing.F) {
	f.Add([]byte(older))
	f.Add([]byte(`{"schema":1}`))
	c := load(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if other, err := c.With(b); err == nil && len(other.Types()) == 0 {
			t.Error("a catalogue without types was taken")
		}
	})
}

package hub

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/hub/hubtest"
)

// small is a model as most are, with files that nobody here needs beside it.
func small() *hubtest.Model {
	return &hubtest.Model{Files: map[string][]byte{
		"config.json":              []byte(`{"model_type": "bert"}`),
		"tokenizer.json":           []byte(`{"version": "1.0"}`),
		"1_Pooling/config.json":    []byte(`{"pooling_mode_mean_tokens": true}`),
		"model.safetensors":        hubtest.Safetensors(100_000, "w"),
		"model.fp16.safetensors":   hubtest.Safetensors(10, "w"),
		"pytorch_model.bin":        []byte("pickled"),
		"tf_model.h5":              []byte("other"),
		"modeling_own.py":          []byte("print('hello')"),
		"README.md":                []byte("read me"),
		"onnx/model_quantized.bin": []byte("onnx"),
	}}
}

// fixture is a Hub against a server of the test's, with a cache of its own.
type fixture struct {
	*Hub
	server *hubtest.Server
	cache  string
	said   func() string
}

// quick is patience for tests.
var quick = Patience{Tries: 3, Pause: time.Millisecond, Stall: 150 * time.Millisecond}

func newFixture(t *testing.T, models map[string]*hubtest.Model, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{server: hubtest.New(t, models), cache: filepath.Join(t.TempDir(), "hub")}
	f.Hub, f.said = f.client(t, change...)
	return f
}

// client is another program with the same cache.
func (f *fixture) client(t *testing.T, change ...func(*Options)) (*Hub, func() string) {
	t.Helper()
	at, err := url.Parse(f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said []string
	o := Options{Settings: Settings{Endpoint: at, Cache: f.cache}, Patience: quick, Agent: "assay/test", Say: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, s)
	}}
	for _, c := range change {
		c(&o)
	}
	return New(o), func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(said, "\n")
	}
}

// asked is how often the server was asked for what ends like this.
func (f *fixture) asked(ending string) int {
	n := 0
	for _, r := range f.server.Requests() {
		if strings.HasSuffix(r.Path, ending) {
			n++
		}
	}
	return n
}

func refuses(t *testing.T, err error, kind Kind, says ...string) {
	t.Helper()
	if !IsKind(err, kind) {
		t.Fatalf("got %v, want an error of kind %s", err, kind)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

// same checks that a snapshot's file has the bytes that were published.
func same(t *testing.T, s Snapshot, files map[string][]byte, names ...string) {
	t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(s.Folder, name))
		if err != nil || string(b) != string(files[name]) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(b), len(files[name]), err)
		}
	}
}

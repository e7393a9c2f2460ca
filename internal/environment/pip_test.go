package environment

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Printed by pip 23.2.1 for a machine with settings at three levels.
const pipConfig = `:env:.cert='/etc/ssl/ca.pem'
:env:.default-timeout='180'
global.extra-index-url='\nhttps://one.example/simple\nhttps://two.example/simple'
global.index-url="https://o'brien:secret@index.example/simple"
global.no-index='false'
install.trusted-host='index.example two.example'
freeze.timeout='10'
`

func TestParsePipConfig(t *testing.T) {
	t.Parallel()
	want := pipSettings{
		"cert":            "/etc/ssl/ca.pem",
		"default-timeout": "180",
		"extra-index-url": "\nhttps://one.example/simple\nhttps://two.example/simple",
		"index-url":       "https://o'brien:secret@index.example/simple",
		"no-index":        "false",
		"trusted-host":    "index.example two.example",
	}
	if diff := cmp.Diff(want, parsePipConfig(pipConfig)); diff != "" {
		t.Error(diff)
	}
	if got := parsePipConfig("global.timeout='1'\n:env:.timeout='3'\ninstall.timeout='2'\n")["timeout"]; got != "3" {
		t.Errorf("the environment must win over files: timeout %q", got)
	}
}

func TestVariablesForUV(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	got := parsePipConfig(pipConfig).variables(none)
	want := map[string]string{ // the certificate's file is not there, so uv must not be told of it
		"UV_DEFAULT_INDEX":  "https://o'brien:secret@index.example/simple",
		"UV_INDEX":          "https://one.example/simple https://two.example/simple",
		"UV_INDEX_STRATEGY": "unsafe-best-match",
		"UV_INSECURE_HOST":  "index.example two.example",
		"UV_HTTP_TIMEOUT":   "180",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	own := func(name string) string { return map[string]string{"UV_INDEX_URL": "https://mine.example"}[name] }
	if v, there := parsePipConfig(pipConfig).variables(own)["UV_DEFAULT_INDEX"]; there {
		t.Errorf("pip's index %q must not replace the one the user gave uv", v)
	}
}

func TestFindLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := pipSettings{"find-links": dir + "\n" + filepath.Join(dir, "absent") + " https://wheels.example/page"}
	want := []string{"--find-links", dir, "--find-links", "https://wheels.example/page"}
	if diff := cmp.Diff(want, s.findLinks()); diff != "" {
		t.Error(diff)
	}
	cert := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(cert, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := (pipSettings{"cert": cert}).variables(func(string) string { return "" })["SSL_CERT_FILE"]; got != cert {
		t.Errorf("SSL_CERT_FILE = %q, want %q", got, cert)
	}
}

func FuzzPipConfig(f *testing.F) {
	f.Add(pipConfig)
	f.Add("global.x='\\x41\\u00e9\\''")
	f.Fuzz(func(t *testing.T, text string) {
		for name := range parsePipConfig(text) {
			if name == "" && text == "" {
				t.Error("a setting out of nothing")
			}
		}
	})
}

func TestPythonString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`'plain'`: "plain", `"it's"`: "it's", `'a\'b"c'`: `a'b"c`, `'\xe9\u20ac\n\\'`: "é€\n\\", `''`: "",
	} {
		if got, err := pythonString(in); err != nil || got != want {
			t.Errorf("pythonString(%s) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "'", "plain", `'a'b'`, `'\'`, `"a'`} {
		if got, err := pythonString(in); err == nil {
			t.Errorf("pythonString(%s) = %q, want an error", in, got)
		}
	}
}

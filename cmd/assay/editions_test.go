package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/atlas"
	"assay/internal/cell"
	"assay/internal/platform"

	"aead.dev/minisign"
)

// A signed atlas comes into use, answers, and goes again; one of an older day needs a
// word, and what fails on the way changes nothing.
func TestAtlasUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(name string, day time.Time) string {
		c := atlas.Column{Target: "cuda", DType: platform.FP32}
		claim := atlas.Claim{Column: c, Verdict: cell.Fails, Evidence: cell.Measured, Class: cell.Crash, Detail: name, Versions: map[string]string{"torch": "9"}, Run: &atlas.Run{ID: "a"}, At: day}
		file, err := atlas.Atlas{Transformers: "9", Columns: []atlas.Column{c}, Rows: []atlas.Row{{Type: "bert", Claims: []atlas.Claim{claim}}}}.Encode()
		path := filepath.Join(dir, name)
		if err = errors.Join(err, os.WriteFile(path, file, 0o600), os.WriteFile(path+".minisig", minisign.Sign(private, file), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	assay := func(want int, args ...string) string {
		t.Helper()
		e, out := inside()
		e.getenv = func(name string) string { return map[string]string{"ASSAY_HOME": filepath.Join(dir, "home")}[name] }
		if status := run(context.Background(), e, args); status != want {
			t.Errorf("%q: status %d, want %d\n%s", args, status, want, out)
		}
		return out.String()
	}
	newer, older := signed("newer", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)), signed("older", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	assay(exitOK, "can-i-use", "bert", "--on", "cuda")
	if said := assay(exitUsage, "atlas", "update", older, "--key", public.String()); !strings.Contains(said, "--older installs it") {
		t.Errorf("%s", said)
	}
	assay(exitOK, "can-i-use", "bert", "--on", "cuda")
	if said := assay(exitOK, "atlas", "update", newer, "--key", public.String()); !strings.Contains(said, "less is measured than before: webnn") {
		t.Errorf("%s", said)
	}
	if said := assay(exitFails, "can-i-use", "bert", "--on", "cuda"); !strings.Contains(said, "crash: newer") {
		t.Errorf("the installed atlas does not answer: %s", said)
	}
	assay(exitOK, "atlas", "verify", newer, "--key", public.String())
	if said := assay(exitOK, "atlas", "diff", "embedded", "current"); !strings.Contains(said, "verdict: bert on cuda in fp32: works, measured → fails, measured, crash") {
		t.Errorf("%.400s", said)
	}
	assay(exitOK, "atlas", "update", older, "--key", public.String(), "--older")
	assay(exitOK, "atlas", "reset")
	assay(exitOK, "can-i-use", "bert", "--on", "cuda")
}

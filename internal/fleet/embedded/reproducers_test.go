//go:build linux

package embedded

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// built builds one of the programs that show a fault of the NATS server without Assay.
func built(t *testing.T, name string, flags ...string) string {
	t.Helper()
	if os.Getenv("ASSAY_TEST_FULL") == "" {
		t.Skip("it shows a fault of another program: ASSAY_TEST_FULL=1 runs it")
	}
	exe := t.TempDir() + "/" + name
	args := append(append([]string{"build"}, flags...), "-o", exe, "./testdata/"+name)
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// said is what a program prints, however it ends.
func said(t *testing.T, exe string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, exe, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	_ = c.Run()
	return out.String()
}

// TestReproducers: what docs/findings.md says of the NATS server is still so. What is repaired fails here: then the page
// changes, and the way around it in station may go.
func TestReproducers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(module), "github.com/nats-io/nats-server/v2 v")
	version, _, _ = strings.Cut(version, "\n")
	if want := "nats-server " + version; !strings.Contains(string(page), want) {
		t.Errorf("docs/findings.md does not say %q: run these programs with it, and say what they show", want)
	}
	t.Run("reopened", func(t *testing.T) {
		t.Parallel()
		if text := said(t, built(t, "reopened", "-race")); !strings.Contains(text, "DATA RACE") || !strings.Contains(text, "EnableJetStream()") {
			t.Errorf("no race was seen:\n%s", text)
		}
	})
	t.Run("ceased", func(t *testing.T) {
		t.Parallel()
		exe, dir := built(t, "ceased"), t.TempDir()
		if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=12m", "none", dir).CombinedOutput(); err != nil {
			t.Skipf("no small disk can be made here: %v, %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
		if text := said(t, exe, dir); !strings.HasSuffix(text, "shows\n") {
			t.Errorf("it prints\n%s", text)
		}
	})
}

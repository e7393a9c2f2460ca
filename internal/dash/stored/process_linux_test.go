//go:build cgo

package stored

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"assay/internal/dash"
)

// TestQueryIsLimited: the process that answers is what the system limits: none takes more than it may, whatever DuckDB counts.
func TestQueryIsLimited(t *testing.T) {
	t.Parallel()
	p := past(t)
	if _, err := p.Query(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	var asked *exec.Cmd
	asker := p.Asker
	p.Asker = func(ctx context.Context) (cmd *exec.Cmd, err error) {
		asked, err = asker(ctx)
		return asked, err
	}
	text, err := p.Query(t.Context(), unseen)
	if wrong := (*dash.WrongError)(nil); !errors.As(err, &wrong) {
		t.Errorf("%.100s, %v", text, err)
	}
	used, ok := asked.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || used.Maxrss<<10 > processTakes+processTakes/4 { // the program itself is beside its data
		t.Errorf("it had %+v", used)
	}
}

// TestProcessHasLimits: memory, the time of its processors, and no core file.
func TestProcessHasLimits(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), limits+"=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, want := range []string{"Max cpu time 60 60 seconds", "Max core file size 0 0 bytes", "Max data size 1073741824 1073741824 bytes"} {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

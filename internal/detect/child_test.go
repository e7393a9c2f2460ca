//go:build !windows

package detect

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(ctx context.Context, script string) ([]byte, error) {
	return runChild(ctx, exec.CommandContext(ctx, "/bin/sh", "-c", script))
}

// starting starts a Python as an environment does, with the runner's sources.
func starting(python string) func(context.Context, ...string) *exec.Cmd {
	return func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, python, args...)
		cmd.Env = append(os.Environ(), "PYTHONPATH=../../runtimes/python", "PYTHONDONTWRITEBYTECODE=1")
		return cmd
	}
}

func TestChildIsKilledWhole(t *testing.T) {
	t.Parallel()
	note := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := shell(ctx, "trap '' TERM; sleep 60 & echo $! >"+note+"; wait")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the time to be up", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the child was waited for %s", took)
	}
	gone(t, note)
}

// gone waits until the process whose number stands in a file is no more.
func gone(t *testing.T, note string) {
	t.Helper()
	data, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if !alive(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d outlived its group", pid)
}

// alive counts a zombie as dead: some containers have nobody to reap it.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

func TestChildLeavesNothing(t *testing.T) {
	t.Parallel()
	note := filepath.Join(t.TempDir(), "pid")
	out, err := shell(t.Context(), "sleep 60 >/dev/null 2>&1 & echo $! >"+note+"; echo '{}'")
	if err != nil || strings.TrimSpace(string(out)) != "{}" {
		t.Errorf("got %q, %v", out, err)
	}
	gone(t, note)
}

func TestChildOutput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ script, says string }{
		"flood":   {"head -c 3000000 /dev/zero", "more than 1048576 bytes"},
		"fails":   {"echo first >&2; echo 'libcuda.so.1: no such file' >&2; exit 3", "exit status 3: libcuda.so.1"},
		"crashes": {"kill -SEGV $$", "segmentation fault"},
	}
	for name, tt := range tests {
		if _, err := shell(t.Context(), tt.script); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", name, err, tt.says)
		}
	}
	if _, err := PythonChild(starting(filepath.Join(t.TempDir(), "python")))(t.Context(), "torch"); err == nil {
		t.Error("a Python that is not there gives no error")
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	b := &bounded{limit: 4, tail: true}
	for _, s := range []string{"abc", "defg", "h"} {
		if n, err := b.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if b.kept.String() != "efgh" || !b.cut {
		t.Errorf("kept %q", b.kept.String())
	}
}

// TestRealProbes asks the real probes with whatever Python there is. They need
// no package: what is not installed must come back as absent.
func TestRealProbes(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 in PATH")
	}
	child := PythonChild(starting(python))
	for _, probe := range []string{"nvml", "openvino", "onnxruntime"} {
		out, err := child(t.Context(), probe)
		if err != nil {
			t.Errorf("%s: %v", probe, err)
			continue
		}
		if a := parseAnswer(out); a.Error != "" {
			t.Errorf("%s: %s", probe, a.Error)
		}
	}
	if _, err := child(t.Context(), "nonsense"); err == nil {
		t.Error("an unknown probe gives no error")
	}
}

// TestProbeEndsWithItsParent closes the pipe that a killed parent would.
func TestProbeEndsWithItsParent(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 in PATH")
	}
	script := "import assay_runner.probes as p, time; p._end_with_parent(); time.sleep(60)"
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Env = append(os.Environ(), "PYTHONPATH=../../runtimes/python", "ASSAY_WATCH_STDIN=1", "PYTHONDONTWRITEBYTECODE=1")
	pipe, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the probe ended with %v, want status 3", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %s to notice", took)
	}
}

package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/runner"
	"assay/internal/runner/runnertest"
)

func TestConformance(t *testing.T) {
	for _, spawn := range []bool{false, true} {
		name := map[bool]string{false: "fork", true: "spawn"}[spawn]
		t.Run(name, func(t *testing.T) {
			runnertest.Run(t, func(t *testing.T) runner.Runner {
				r, err := bare(t, spawn).StartRestarting(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return r
			})
		})
	}
}

// TestIllegalIsTriedAgain: a real child dies of an illegal instruction, another
// one lives with fewer, and every later one is given those from the start.
func TestIllegalIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, spawn := range []bool{false, true} {
		inner, err := bare(t, spawn).StartRestarting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer inner.Close()
		now := ""
		r := runner.Lowering{Runner: inner, Levels: runner.Levels{
			Variable: "ONEDNN_MAX_CPU_ISA", Now: func() string { return now },
			Below:  func(string) string { return "AVX512_CORE_FP16" },
			Bounds: func(runner.Job) bool { return true },
			Lived:  func(_ cell.Cell, _, lived string) { now = lived },
		}}
		for i, want := range []int{1, 0} {
			again, points := 0, 0
			job := runner.Job{Kind: runner.NoopJob, Cell: cell.Cell{Type: "noop", Engine: "noop", Task: "illegal"}, Points: []runner.Point{{}, {}}}
			exit, err := r.Run(t.Context(), job, func(e runner.Event) {
				switch e.(type) {
				case runner.Again:
					again, points = again+1, 0
				case runner.PointDone:
					points++
				}
			})
			if err != nil || exit.Outcome() != runner.Finished || again != want || now != "AVX512_CORE_FP16" || points < 2 {
				t.Errorf("spawn %v, job %d: %v, %v, tried again %d times, %d points, level %q", spawn, i, exit, err, again, points, now)
			}
		}
	}
}

// TestADeathLeavesNoCore: a child of a multi-gigabyte process that dies is not
// written to disk, which would take a minute, even where dumps are asked for.
func TestADeathLeavesNoCore(t *testing.T) {
	t.Parallel()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/") {
		t.Skip("where this system puts core dumps cannot be looked at")
	}
	dir := t.TempDir()
	b := bare(t, false)
	wrapper := filepath.Join(dir, "python")
	script := "#!/bin/sh\ncd " + dir + " && ulimit -c unlimited && exec " + b.Python + " \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	b.Python = wrapper
	r, err := b.Start(t.Context())
	if err != nil {
		t.Skipf("core dumps cannot be asked for: %v", err)
	}
	defer r.Close()
	exit, err := r.Run(t.Context(), runner.Job{Kind: runner.NoopJob, Cell: cell.Cell{Type: "noop", Engine: "noop", Task: "illegal"}}, nil)
	if err != nil || !exit.Illegal() {
		t.Fatalf("%v, %v", exit, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestNothingIsInheritedUnasked: a runner whose environment nobody made does not
// start with all that this process holds.
func TestNothingIsInheritedUnasked(t *testing.T) {
	t.Parallel()
	b := bare(t, false)
	b.Env = nil
	if r, err := b.Start(t.Context()); err == nil {
		r.Close()
		t.Error("it starts")
	}
	if r, err := b.StartRestarting(t.Context()); err == nil {
		r.Close()
		t.Error("it starts, and again")
	}
}

// bare is a runner that needs nothing but an interpreter and these sources.
func bare(t testing.TB, spawn bool) Runner {
	t.Helper()
	sources, err := filepath.Abs("../../../runtimes/python")
	if err != nil {
		t.Fatal(err)
	}
	return Runner{Python: interpreter(t), Bare: true, Spawn: spawn, Env: append(append(os.Environ(), Environment(sources)...), "PYTHONDONTWRITEBYTECODE=1", "ONEDNN_MAX_CPU_ISA=")}
}

// interpreter is a Python that the runner supports.
func interpreter(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"python3", "python"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run() == nil {
			return path
		}
	}
	t.Skip("no Python 3.10 or newer is on PATH")
	return ""
}

//go:build integration

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/platform"
)

// groups are the examples by where they stand, each with what holds once all of it
// has run: a shell of its own runs each, so that none is long after all else is done.
var groups = map[string]func(*testing.T, *program){
	"README":       checkBroughtHome,
	"other pages":  checkJournaled,
	"help until e": checkJournaled,
	"help from e":  checkResumed,
}

// group is the one that runs an example.
func (e example) group() string {
	command, isHelp := strings.CutSuffix(e.source, " --help")
	switch {
	case isHelp && command < "assay e":
		return "help until e"
	case isHelp:
		return "help from e"
	case e.source == "README.md":
		return "README"
	}
	return "other pages"
}

// TestIntegrationExamples runs every example that needs torch as a user's
// shell does, groups of them beside each other.
func TestIntegrationExamples(t *testing.T) {
	t.Parallel()
	for group, after := range groups {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			p, python := withTorch(t)
			installShown(t, p, python)
			ran := 0
			for _, e := range examples(t) {
				if !e.runs() || !e.needsTorch() || e.group() != group {
					continue
				}
				began := time.Now()
				runExample(t, p, e)
				t.Logf("%5.1f s  %s", time.Since(began).Seconds(), e.line)
				ran++
			}
			if ran < 5 {
				t.Errorf("only %d examples were found to run", ran)
			}
			after(t, p)
		})
	}
}

// TestIntegrationGroups: each example is in a group that runs.
func TestIntegrationGroups(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t) {
		if groups[e.group()] == nil {
			t.Errorf("%s: %s: nothing runs the group %q", e.source, e.line, e.group())
		}
	}
}

// builtWorker is the worker as make build makes it, whose packages need not be
// compiled again, beside the assay of these tests and gone with it.
var builtWorker = sync.OnceValues(func() (string, error) {
	started, err := exec.LookPath("assay")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(filepath.Dir(started), "built-worker")
	build := exec.Command("go", "build", "-trimpath", "-o", exe, "assay/cmd/assay-worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the worker: %w\n%s", err, out)
	}
	return exe, nil
})

// installShown puts what the examples name where they look for it: assay with
// the Python of these tests, the worker, a plan, an environment in .venv.
func installShown(t *testing.T, p *program, python string) {
	t.Helper()
	bin := filepath.Join(p.dir, "bin")
	assay, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	wrapper := "#!/bin/sh\nexec '" + assay + "' --python '" + python + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "assay"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	worker, err := builtWorker()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(worker, filepath.Join(bin, "assay-worker")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(filepath.Dir(python)), filepath.Join(p.dir, ".venv")); err != nil {
		t.Fatal(err)
	}
	p.write(t, "plan.json", cell.Plan{Cells: []cell.Cell{{Type: "bert"}, {Type: "gpt2", Batch: 2}}})
	linkWeb(t, p)
	p.globals = nil
	p.vars["PATH"] = strings.Join([]string{bin, filepath.Dir(python), p.vars["PATH"]}, string(os.PathListSeparator))
}

// checkResumed: the matrix of the examples is whole, and what they ran need not
// be run again.
func checkResumed(t *testing.T, p *program) {
	t.Helper()
	checkAll(t, journaled(t, p), catalog.Selector{Representatives: true})
	line := "assay matrix --representatives --platform cpu --resume"
	stdout, stderr, status := finish(t, shell(t, p, line))
	if status != exitOK || !strings.Contains(stderr, "everything asked for is in the store already") || !strings.Contains(stdout, "bert") {
		t.Errorf("%s a second time: status %d\n%s%s", line, status, stdout, stderr)
	}
}

// journaled are the results of tiny models on the CPU of every run there was.
func journaled(t *testing.T, p *program) []cell.Result {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.vars["ASSAY_HOME"], "data", "journals", "*"+journal.Extension))
	if err != nil {
		t.Fatal(err)
	}
	var out []cell.Result
	for _, f := range files {
		r, err := journal.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		for line, err := r.Next(); err == nil; line, err = r.Next() {
			if x := line.Result; x != nil && x.Cell.Size == cell.Tiny && x.Cell.Platform == platform.CPU {
				out = append(out, *x)
			}
		}
		if problems := r.Problems(); len(problems) > 0 {
			t.Error(problems)
		}
		_ = r.Close()
	}
	return out
}

// checkBroughtHome: what the worker of the examples wrote can be imported, once.
func checkBroughtHome(t *testing.T, p *program) {
	t.Helper()
	for _, want := range []string{"2 new lines, 0 already here", "0 new lines, 2 already here"} {
		stdout, stderr, status := finish(t, shell(t, p, "assay import results.jsonl"))
		if status != exitOK || !strings.Contains(stdout, want) {
			t.Errorf("import: status %d, want %q\n%s%s", status, want, stdout, stderr)
		}
	}
	checkJournaled(t, p)
}

// checkJournaled: what the examples ran here works.
func checkJournaled(t *testing.T, p *program) {
	t.Helper()
	results := journaled(t, p)
	if len(results) == 0 {
		t.Error("nothing was run")
	}
	for _, r := range results {
		checkWorks(t, r)
	}
}

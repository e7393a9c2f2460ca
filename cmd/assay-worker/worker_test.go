package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/fleet/keys"
	"assay/internal/journal"
	"assay/internal/progress"
	"assay/internal/session"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the worker when it is started under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay-worker": main, "test-coordinator": coordinate})
}

var python = sync.OnceValues(func() (string, error) {
	p, err := environment.FindPython(context.Background(), os.Getenv("ASSAY_PYTHON"))
	return p.Path, err
})

// worker is the program with folders of its own.
type worker struct {
	dir     string
	environ []string
}

func newWorker(t *testing.T) *worker {
	t.Helper()
	path, err := python()
	if err != nil {
		t.Fatalf("the worker's tests need a Python: %v", err)
	}
	dir := t.TempDir()
	return &worker{dir, []string{
		"PATH=" + filepath.Dir(path) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + dir, "TMPDIR=" + dir, "ASSAY_HOME=" + filepath.Join(dir, "home"),
		"ASSAY_OFFLINE=1", "GORACE=atexit_sleep_ms=0", "LANG=C.UTF-8",
	}}
}

func (w *worker) run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "assay-worker", args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = w.dir, w.environ, &out, &errs, 5*time.Second
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (w *worker) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	working = `{"cells":[{"type":"noop","engine":"noop"},{"type":"noop","engine":"noop","batch":2}]}`
	failing = `{"cells":[{"type":"noop","engine":"noop"},{"type":"noop","engine":"noop","task":"crash"}]}`
)

// TestUsage: what cannot be meant is a sentence and status 2.
func TestUsage(t *testing.T) {
	t.Parallel()
	w := newWorker(t)
	w.file(t, "good.json", working)
	w.file(t, "unknown.json", `{"cells":[{"type":"noop","engine":"noop","bogus":1}]}`)
	w.file(t, "nomodel.json", `{"cells":[{"type":"nosuch"}]}`)
	w.file(t, "garbage.json", "garbage")
	w.file(t, "elsewhere.json", `{"cells":[{"type":"bert","size":"full","weights":"/elsewhere/bert"}]}`)
	w.file(t, "contradicts.json", `{"cells":[{"type":"bert","platform":"cuda/onnxruntime","engine":"torch"}]}`)
	for _, tc := range []struct {
		args string
		said string
	}{
		{"", "a command is missing"},
		{"bogus", `unknown command "bogus"`},
		{"run", "run needs --plan FILE and --out FILE"},
		{"run --plan good.json", "run needs --plan FILE and --out FILE"},
		{"run --bogus", "flag provided but not defined: -bogus"},
		{"run --plan good.json --out out.jsonl more", `unknown argument "more"`},
		{"run --plan nowhere.json --out out.jsonl", "nowhere.json"},
		{"run --plan unknown.json --out out.jsonl", `unknown field "bogus"`},
		{"run --plan garbage.json --out out.jsonl", "plan is not valid"},
		{"run --plan contradicts.json --out out.jsonl", `platform "cuda/onnxruntime" contradicts engine "torch"`},
		{"run --plan elsewhere.json --out out.jsonl", "cell 1: /elsewhere/bert is not on this machine"},
		{"run --plan nomodel.json --out out.jsonl", "the nearest names are"},
		{"run --plan good.json --out out.jsonl --timeout soon", "soon"},
		{"detect --plan", "flag needs an argument"},
		{"join nats://127.0.0.1:1 --cert a.pem", "--cert and --cert-key are for --web-lab"},
		{"join nats://127.0.0.1:1 --web-lab 127.0.0.1:0 --cert a.pem", "must be given together"},
		{"join nats://127.0.0.1:1 --web-lab 127.0.0.1:0 --noop", "cannot be used together"},
	} {
		stdout, stderr, status := w.run(t, strings.Fields(tc.args)...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, tc.said) || !strings.HasPrefix(stderr, "assay-worker: ") {
			t.Errorf("assay-worker %s: status %d, %q, want 2 and %q", tc.args, status, stderr, tc.said)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "out.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was begun for a plan that cannot be read: %v", err)
	}
}

// TestHelp: it tells the commands and exit statuses, and its plan can be read.
func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWorker(t)
	for _, arg := range []string{"--help", "-h", "help"} {
		stdout, _, status := w.run(t, arg)
		if status != 0 || stdout != help {
			t.Errorf("%s: status %d\n%s", arg, status, stdout)
		}
	}
	for _, word := range []string{"assay-worker run --plan", "assay-worker detect", "assay-worker version", "Exit status: 0", "3 some cell fails", "130"} {
		if !strings.Contains(help, word) {
			t.Errorf("the help lacks %q", word)
		}
	}
	plan := regexp.MustCompile(`\{.*\}`).FindString(help)
	plan = strings.Replace(plan, "test|quick|full", "quick", 1)
	if p, err := cell.ReadPlan(strings.NewReader(plan)); err != nil || len(p.Cells) != 1 {
		t.Errorf("the plan in the help: %v", err)
	}
	if stdout, _, status := w.run(t, "version"); status != 0 || !strings.HasPrefix(stdout, "assay-worker ") {
		t.Errorf("version: status %d, %q", status, stdout)
	}
}

// TestRun: results go into a journal that is never written over.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorker(t)
	w.file(t, "good.json", working)
	w.file(t, "bad.json", failing)
	w.file(t, "target.json", strings.ReplaceAll(working, `"engine":"noop"`, `"platform":"cpu/noop"`))
	_, stderr, status := w.run(t, "run", "--plan", "good.json", "--out", "good.jsonl")
	if status != 0 || !strings.Contains(stderr, "2/2 noop on cpu/noop") {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	if got := verdicts(t, filepath.Join(w.dir, "good.jsonl")); got != strings.Repeat("works, ", 2)+"end" {
		t.Errorf("the journal holds %q", got)
	}
	if _, stderr, status = w.run(t, "run", "--plan", "target.json", "--out", "target.jsonl"); status != 0 || !strings.Contains(stderr, "2/2 noop on cpu/noop") {
		t.Errorf("a plan of targets: status %d\n%s", status, stderr)
	}
	if _, stderr, status = w.run(t, "run", "--plan", "good.json", "--out", "good.jsonl"); status != 1 || !strings.Contains(stderr, "never overwritten") {
		t.Errorf("over a file that is there: status %d\n%s", status, stderr)
	}
	if _, stderr, status = w.run(t, "run", "--plan", "bad.json", "--out", "bad.jsonl", "--workers", "1"); status != 3 || !strings.Contains(stderr, "crash: ") {
		t.Errorf("a failing cell: status %d\n%s", status, stderr)
	}
	if got := verdicts(t, filepath.Join(w.dir, "bad.jsonl")); got != "works, fails, end" {
		t.Errorf("the journal holds %q", got)
	}
}

// verdicts are those of a journal, in order, and whether it has an end.
func verdicts(t *testing.T, path string) string {
	t.Helper()
	r, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, ", ")
		}
		if err != nil {
			t.Fatal(err)
		}
		switch line.Kind {
		case journal.KindResult:
			out = append(out, string(line.Result.Verdict))
		case journal.KindEnd:
			out = append(out, "end")
		}
	}
}

// TestNoEnvironment: a machine without one is told, and no file is begun that
// would stand in the way of the next try.
func TestNoEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorker(t)
	w.file(t, "bert.json", `{"cells":[{"type":"bert"}]}`)
	w.file(t, "noop.json", working)
	for _, tc := range []struct {
		args string
		said string
	}{
		{"run --plan bert.json --out out.jsonl", "ASSAY_OFFLINE forbids installing"},
		{"run --plan bert.json --out out.jsonl --no-setup", "--no-setup forbids installing"},
		{"run --plan bert.json --out out.jsonl --python ./nowhere", "./nowhere does not start"},
		{"run --plan noop.json --out out.jsonl --python ./nowhere", "./nowhere does not start"},
		{"detect --python ./nowhere", "./nowhere does not start"},
		{"run --plan noop.json --out nowhere/out.jsonl", "create journal"},
	} {
		if _, stderr, status := w.run(t, strings.Fields(tc.args)...); status != 1 || !strings.Contains(stderr, tc.said) {
			t.Errorf("assay-worker %s: status %d, %q, want 1 and %q", tc.args, status, stderr, tc.said)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "out.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was begun that nothing can be written to: %v", err)
	}
}

// TestDetect: what the machine has as JSON, or as a fixture.
func TestDetect(t *testing.T) {
	t.Parallel()
	w := newWorker(t)
	stdout, stderr, status := w.run(t, "detect")
	var report struct {
		Schema    int
		Platforms []struct{ Platform string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != 0 || report.Schema != 1 || len(report.Platforms) != 8 {
		t.Errorf("status %d, %v\n%s%s", status, err, stdout, stderr)
	}
	if _, stderr, status := w.run(t, "detect", "--capture", "here"); status != 0 {
		t.Errorf("--capture: status %d\n%s", status, stderr)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "here", "manifest.json")); err != nil {
		t.Error(err)
	}
}

// TestDetectGivenMachine: what is detected is the machine that is given.
func TestDetectGivenMachine(t *testing.T) {
	t.Setenv("ASSAY_HOME", t.TempDir()) // which has no environment to ask
	m, _, err := detect.Open("../../internal/detect/testdata/machines/h200")
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if err := detectHere(t.Context(), nil, m, &stdout, &stderr); err != nil || !strings.Contains(stdout.String(), "H200") {
		t.Errorf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
}

// TestLinesSayWhatDidNotRun: a verdict that no run stands behind is not said to work.
func TestLinesSayWhatDidNotRun(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	l := &lines{w: &b}
	c := cell.Cell{Type: "bert", Target: "rocm"}.Normal()
	for _, e := range []cell.Evidence{cell.Derived, cell.Measured} {
		if err := l.Hear(progress.Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: e})); err != nil {
			t.Fatal(err)
		}
	}
	if want := "1/1 bert on rocm, tiny fp32 batch 1: should work\n2/2 bert on rocm, tiny fp32 batch 1: works\n"; b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

// TestNames: a node's name may have dots, and a worker's may not.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"ip-10-0-0-1.eu.internal": "ip-10-0-0-1-eu-internal", "lab-3": "lab-3", "a b": ""} {
		f, _, err := parseJoin([]string{"nats://127.0.0.1:1", "--noop", "--name", name})
		if err != nil {
			t.Fatal(err)
		}
		s := session.New(session.Options{})
		a, err := f.announce(t.Context(), s, keys.Ticket{}, func(string) {})
		if a.Worker != want && want != "" || (err == nil) != (want != "") {
			t.Errorf("%q became %q, %v", name, a.Worker, err)
		}
		_ = s.Close()
	}
}

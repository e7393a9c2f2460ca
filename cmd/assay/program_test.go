package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
)

// program starts assay as a user does, with folders of its own.
type program struct {
	dir     string
	exe     string   // in place of the assay that these tests built; "" is that one
	globals []string // before every command's own arguments
	vars    map[string]string
}

func newProgram(t testing.TB) *program {
	t.Helper()
	dir := t.TempDir()
	p := &program{dir: dir, vars: variables(t, dir)}
	if err := os.MkdirAll(p.vars["TMPDIR"], 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// command is the program with arguments, not yet started.
func (p *program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cmp.Or(p.exe, "assay"), append(slices.Clone(p.globals), args...)...)
	cmd.Dir = p.dir
	cmd.Env = p.environ()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (p *program) environ() []string {
	var out []string
	for name, value := range p.vars {
		out = append(out, name+"="+value)
	}
	return out
}

// run runs it to its end and returns what it printed and its exit status.
func (p *program) run(t testing.TB, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return finish(t, p.command(t.Context(), args...))
}

func finish(t testing.TB, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); e != nil && cmd.ProcessState == nil {
		t.Fatal(e)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// ok runs it, wants status 0, and returns what it printed.
func (p *program) ok(t testing.TB, args ...string) string {
	t.Helper()
	stdout, stderr, status := p.run(t, args...)
	if status != 0 {
		t.Fatalf("assay %s: status %d\n%s%s", strings.Join(args, " "), status, stdout, stderr)
	}
	return stdout
}

// report runs it with --json and returns the results; their number and the
// exit status are the caller's to judge.
func (p *program) report(t testing.TB, wantStatus int, args ...string) cell.Report {
	t.Helper()
	stdout, stderr, status := p.run(t, append(args, "--json")...)
	if status != wantStatus {
		t.Fatalf("assay %s: status %d, want %d\n%s%s", strings.Join(args, " "), status, wantStatus, stdout, stderr)
	}
	var r cell.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("assay %s printed no report: %v\n%s", strings.Join(args, " "), err, stdout)
	}
	return r
}

// count is how many results the store can be asked for.
func (p *program) count(t testing.TB) int {
	t.Helper()
	var answer struct{ Rows []struct{ N int } }
	text := p.ok(t, "query", "--json", "--sql", "select count(*) as n from hardware_results")
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Rows) != 1 {
		t.Fatalf("query printed %q: %v", text, err)
	}
	return answer.Rows[0].N
}

// noops writes a plan of n no-op cells that do the same and returns its path.
func (p *program) noops(t testing.TB, task string, n int) string {
	t.Helper()
	var plan cell.Plan
	for i := range n {
		plan.Cells = append(plan.Cells, cell.Cell{Type: "noop", Engine: "noop", Task: task, Seed: i})
	}
	return p.write(t, fmt.Sprintf("%s-%d.json", task, n), plan)
}

func (p *program) write(t testing.TB, name string, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// running is a program under way that prints each finished result as a line.
type running struct {
	*exec.Cmd
	stderr bytes.Buffer
	lines  chan string // closed at the end of its standard output
}

func (p *program) start(t testing.TB, args ...string) *running {
	t.Helper()
	r := &running{Cmd: p.command(t.Context(), append(args, "--jsonl")...), lines: make(chan string)}
	r.Stderr = &r.stderr
	pipe, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		s := bufio.NewScanner(pipe)
		s.Buffer(nil, 8<<20)
		for s.Scan() {
			select {
			case r.lines <- s.Text():
			case <-t.Context().Done():
				return
			}
		}
	}()
	return r
}

// after returns once n results are finished.
func (r *running) after(t testing.TB, n int) {
	t.Helper()
	for range n {
		if _, ok := <-r.lines; !ok {
			t.Fatalf("it ended early: %v\n%s", r.Wait(), r.stderr.String())
		}
	}
}

// end waits for its end and returns how many more results it printed, and its
// exit status; -1 when a signal ended it.
func (r *running) end() (more, status int) {
	for range r.lines {
		more++
	}
	_ = r.Wait()
	return more, r.ProcessState.ExitCode()
}

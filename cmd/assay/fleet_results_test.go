package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/wire"
	"assay/internal/journal"
	"assay/internal/progress"
)

// gated is a machine on which every cell works once it is let through.
type gated struct{ through chan struct{} }

func (g gated) Carry(ctx context.Context, plan cell.Plan, on progress.Listener) error {
	select {
	case <-g.through:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return everythingWorks{}.Carry(ctx, plan, on)
}

// hashes are the cells of results, in order.
func hashes(t *testing.T, results []cell.Result) []string {
	t.Helper()
	var out []string
	for _, r := range results {
		out = append(out, r.Cell.Hash)
	}
	slices.Sort(out)
	return out
}

// TestFleetResults: the sender of a sweep is killed in the middle; all of its results come home later, those that it had once, and
// look as if it had lived.
func TestFleetResults(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	at := p.coordinator(t)
	g := gated{make(chan struct{}, 100)}
	joinFleetWith(t, keys.Ticket{URL: at}, "lab-1", g)
	const cells = 8
	sender := p.command(t.Context(), "test", "--plan", p.noops(t, "killed", cells), "--as", "night", "--fleet", at)
	if err := sender.Start(); err != nil {
		t.Fatal(err)
	}
	nc, err := wire.Connect(at, wire.Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	office := wire.NewClient(nc, "", 5*time.Second)
	answered := func(n int) string {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			s, err := office.Status(t.Context())
			if err == nil && len(s.Sweeps) == 1 && s.Sweeps[0].Answered >= n {
				return s.Sweeps[0].ID
			}
		}
		t.Fatalf("%d cells are not answered", n)
		return ""
	}
	answered(0)
	for range 3 {
		g.through <- struct{}{}
	}
	id := answered(3)
	p.waitForResults(t, id, 3)
	_ = sender.Process.Kill()
	_ = sender.Wait()

	var part cell.Report
	stdout, stderr, status := p.run(t, "fleet", "results", id, "--json", "--fleet", at)
	if err := json.Unmarshal([]byte(stdout), &part); err != nil || status != 0 || len(part.Results) != 3 || !strings.Contains(stderr, "5 cells have no result yet") {
		t.Errorf("while it runs: %v, status %d, %d results\n%s", err, status, len(part.Results), stderr)
	}
	if n := p.count(t); n != 3 {
		t.Errorf("the store has %d results before they are saved", n)
	}
	go func() {
		for range cells {
			g.through <- struct{}{}
		}
	}()
	stdout, stderr, status = p.run(t, "fleet", "results", id, "--wait", "--save", "--json", "--fleet", at)
	var whole cell.Report
	if err := json.Unmarshal([]byte(stdout), &whole); err != nil || status != 0 || len(whole.Results) != cells || !strings.Contains(stderr, "5 results are new") || !strings.Contains(stderr, "3 were there") {
		t.Errorf("%v, status %d, %d results\n%s", err, status, len(whole.Results), stderr)
	}
	if whole.Run.ID != id || whole.Run.Name != "night" || whole.Run.Command != "test" || whole.Host.ID != "elsewhere" {
		t.Errorf("%+v of %+v", whole.Run, whole.Host)
	}
	if n := p.count(t); n != cells {
		t.Errorf("the store has %d results", n)
	}
	if _, stderr, status := p.run(t, "fleet", "results", id, "--save", "--fleet", at); status != 0 || !strings.Contains(stderr, "0 results are new") || p.count(t) != cells {
		t.Errorf("saving twice: status %d\n%s", status, stderr)
	}
	stored := p.journalOf(t, id)
	if got := hashes(t, whole.Results); !slices.Equal(got, hashes(t, stored)) {
		t.Errorf("printed %v, journaled %d", got, len(stored))
	}
	if _, stderr, status := p.run(t, "fleet", "results", "nothing", "--fleet", at); status != exitProgram || !strings.Contains(stderr, "known here") {
		t.Errorf("an unknown sweep: status %d, %s", status, stderr)
	}
	// The one of a cancelled sweep has what it has.
	if _, err := office.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "20261118T020000Z-abcdef", Tasks: 2}, Last: true}); err != nil {
		t.Fatal(err)
	}
	p.ok(t, "fleet", "cancel", "20261118T020000Z-abcdef", "--fleet", at)
	if _, stderr, status := p.run(t, "fleet", "results", "20261118T020000Z-abcdef", "--wait", "--fleet", at); status != 0 || !strings.Contains(stderr, "was cancelled") {
		t.Errorf("a cancelled sweep: status %d, %s", status, stderr)
	}
}

// journalOf is what the journal of a run holds.
func (p *program) journalOf(t *testing.T, id string) []cell.Result {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.vars["ASSAY_HOME"], "data", "journals", id+".jsonl"))
	if err != nil || len(found) != 1 {
		return nil
	}
	j, err := journal.Open(found[0])
	if err != nil {
		return nil
	}
	defer j.Close()
	var out []cell.Result
	for {
		line, err := j.Next()
		if err != nil {
			return out
		}
		if line.Kind == journal.KindResult {
			out = append(out, *line.Result)
		}
	}
}

// waitForResults waits until the sender of a sweep has journaled so many results.
func (p *program) waitForResults(t *testing.T, id string, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(p.journalOf(t, id)) < n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the sender has not %d results", n)
		}
	}
}

package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/journal"
	"assay/internal/platform"
	"assay/internal/progress"
)

// office is a coordinator that answers as a test wants.
type office struct {
	fleet.Office
	submit  func(fleet.Submission) error
	answers func(fleet.Question) fleet.Page

	mu      sync.Mutex
	steered []fleet.Steering
	sent    []fleet.Sweep
}

func (o *office) Submit(_ context.Context, s fleet.Submission) (fleet.Sweep, error) {
	o.mu.Lock()
	o.sent = append(o.sent, s.Sweep)
	o.mu.Unlock()
	if o.submit != nil {
		return s.Sweep, o.submit(s)
	}
	return s.Sweep, nil
}

func (o *office) Answers(_ context.Context, q fleet.Question) (fleet.Page, error) {
	return o.answers(q), nil
}

func (o *office) Steer(_ context.Context, s fleet.Steering) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.steered = append(o.steered, s)
	return "", nil
}

func options(t *testing.T, o *office) Options {
	t.Helper()
	now := time.Now().UTC()
	return Options{Office: o, Dir: t.TempDir(), Header: journal.Header{Schema: journal.Schema, Run: cell.Run{ID: journal.NewRunID(now), StartedAt: now}}}
}

func noops(n int) cell.Plan {
	var p cell.Plan
	for i := range n {
		p.Cells = append(p.Cells, cell.Cell{Type: "noop", Engine: platform.Noop, Seed: i + 1}.Normal())
	}
	return p
}

// Cells whose worker is expected back are waited for; those that nobody has are not.
func TestWaitsForWorkersThatAreAway(t *testing.T) {
	t.Parallel()
	plan := noops(1)
	asked := 0
	o := &office{}
	o.answers = func(q fleet.Question) fleet.Page {
		asked++
		if asked < 3 {
			return fleet.Page{Left: 1, Stranded: []fleet.Stranded{{Lane: "l", Tasks: 1, Missing: "worker a is waited for", Awaits: "a"}}}
		}
		body, err := json.Marshal(cell.Result{Cell: plan.Cells[0], Verdict: cell.Works, Evidence: cell.Measured, StartedAt: time.Now().UTC()})
		if err != nil {
			t.Error(err)
		}
		return fleet.Page{Answers: []fleet.Final{{Key: "k", Attempt: 1, Worker: "a", Host: &cell.Host{ID: "h"}, Results: []json.RawMessage{body}}}}
	}
	var notes []string
	report, err := Carry(t.Context(), plan, options(t, o), progress.Func(func(e progress.Event) error {
		if e.Kind == progress.KindNote {
			notes = append(notes, e.Text)
		}
		return nil
	}))
	if err != nil || len(report.Results) != 1 || report.Results[0].Verdict != cell.Works || len(o.steered) > 0 {
		t.Errorf("%v, %+v, %v", err, report.Results, o.steered)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "waited for") {
		t.Errorf("%q", notes)
	}
	o.answers = func(fleet.Question) fleet.Page {
		return fleet.Page{Left: 1, Stranded: []fleet.Stranded{{Lane: "l", Tasks: 1, Missing: "nobody has it"}}}
	}
	report, err = Carry(t.Context(), plan, options(t, o), progress.Func(func(progress.Event) error { return nil }))
	if err != nil || len(report.Results) != 1 || report.Results[0].Verdict != cell.Unavailable {
		t.Errorf("%v, %+v", err, report.Results)
	}
}

// A sweep whose sender is stopped while it is being sent is dropped: nobody would take its answers.
func TestStoppedWhileSending(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	o := &office{}
	parts := 0
	o.submit = func(s fleet.Submission) error {
		if parts++; parts == 2 {
			stop()
			return errors.New("nobody answers")
		}
		return nil
	}
	if _, err := Carry(ctx, noops(part+1), options(t, o), progress.Func(func(progress.Event) error { return nil })); err == nil {
		t.Error("it was sent")
	}
	if len(o.steered) != 1 || o.steered[0].Do != fleet.KindCancel {
		t.Errorf("%+v", o.steered)
	}
}

package main

import (
	"testing"

	"assay/internal/cell"
)

// TestNoopBehaviours: whatever a child does, its cell gets the right class, the
// others their results, and the command its status.
func TestNoopBehaviours(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	behaviours := []struct {
		task  string
		class cell.FailureClass // "" when it works
	}{
		{"nothing", ""},
		{"sleep", ""},
		{"spin", ""},
		{"memory", ""},
		{"flood", ""}, // a gigabyte on standard output
		{"crash", cell.Crash},
		{"abort", cell.Crash},
		{"exit", cell.Crash},
		{"silent", cell.Crash},
		{"grandchild", cell.Crash}, // says nothing about a result, and its child is gone with it
		{"raise", cell.ModelError},
		{"garbage", cell.Environment},
		{"longline", cell.Environment},
		{"nosuch", cell.ModelError},
	}
	var plan cell.Plan
	want := map[string]cell.FailureClass{}
	for _, b := range behaviours {
		plan.Cells = append(plan.Cells, cell.Cell{Type: "noop", Engine: "noop", Task: b.task})
		want[b.task] = b.class
	}
	r := p.report(t, exitFails, "test", "--plan", p.write(t, "plan.json", plan))
	if len(r.Results) != len(behaviours) {
		t.Errorf("%d results of %d cells", len(r.Results), len(behaviours))
	}
	for _, res := range r.Results {
		checkFailure(t, res, want[res.Cell.Task])
	}
	checkNoneLeft(t, p)
	if n := p.count(t); n != len(behaviours) {
		t.Errorf("%d results in the store, want %d", n, len(behaviours))
	}
}

func checkFailure(t *testing.T, r cell.Result, class cell.FailureClass) {
	t.Helper()
	switch {
	case class == "" && (r.Verdict != cell.Works || r.Failure != nil):
		t.Errorf("%s: %s (%v), want works", r.Cell.Task, r.Verdict, r.Failure)
	case class == "":
	case (r.Verdict == cell.Unknown) != !class.OfModel():
		t.Errorf("%s: %s, want unknown of what the machine broke, and of that alone", r.Cell.Task, r.Verdict)
	case r.Verdict != cell.Fails && r.Verdict != cell.Unknown || r.Failure == nil:
		t.Errorf("%s: %s, want it to fail", r.Cell.Task, r.Verdict)
	case r.Failure.Class != class || r.Failure.Detail == "" || r.Failure.Hint == "":
		t.Errorf("%s: class %q, want %q with a detail and a hint: %+v", r.Cell.Task, r.Failure.Class, class, *r.Failure)
	}
}

// TestNoopTimeout: children that never end are killed at their limit.
func TestNoopTimeout(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	r := p.report(t, exitFails, "test", "--plan", p.noops(t, "hang", 2), "--timeout", "1s")
	if len(r.Results) != 2 {
		t.Fatalf("%d results, want 2", len(r.Results))
	}
	for _, res := range r.Results {
		checkFailure(t, res, cell.Timeout)
	}
	checkNoneLeft(t, p)
}

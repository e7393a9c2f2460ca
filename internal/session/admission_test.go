package session

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/runner"
)

// TestPlansShareTheSession: two plans at once in one session have its two
// workers together, not each.
func TestPlansShareTheSession(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	r := &scripted{during: func(context.Context, runner.Job) {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(50 * time.Millisecond) // long enough for others to join
	}}
	s := scriptedSession(t, r, Options{Workers: 2})
	defer s.Close()
	var wg sync.WaitGroup
	for seed := range 3 {
		plan := cell.Plan{}
		for _, name := range []string{"bert", "vit", "t5"} {
			plan.Cells = append(plan.Cells, cell.Cell{Type: name, Seed: seed})
		}
		plan, err := plan.Normal()
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			w := &watching{}
			if err := s.Carry(t.Context(), plan, w); err != nil || len(w.finished) != 3 {
				t.Errorf("%d results, %v", len(w.finished), err)
			}
			for _, res := range w.finished {
				if res.Verdict != cell.Works {
					t.Errorf("%s: %s, %+v", res.Cell.Type, res.Verdict, res.Failure)
				}
			}
		})
	}
	wg.Wait()
	if got := most.Load(); got != 2 {
		t.Errorf("%d children ran in parallel, want 2", got)
	}
}

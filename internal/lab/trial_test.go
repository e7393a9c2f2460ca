package lab

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/cell"
)

// TestTrial: repeats that a caller orders wait for a quiet machine and are held to
// processors as those of a plan are; fresh ones are a later result of their own, which
// is not blamed for what disturbed those before.
func TestTrial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load := Load{Cores: 1.9, OfAll: 2, known: true}
		s, obs := &script{do: good}, &notes{}
		l := &Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 2, Limit: 1 << 40, Others: func(context.Context) Load { return load }}
		p, err := cell.Plan{Timing: cell.Quick, WaitQuietS: 10, Pin: "0", Cells: []cell.Cell{{Type: "x"}}}.Normal()
		if err != nil {
			t.Fatal(err)
		}
		trial, err := l.Try(t.Context(), p, obs)
		if err != nil || !trial.Open() {
			t.Fatal(err)
		}
		repeat := func() {
			t.Helper()
			if err := trial.Repeat(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		began := time.Now()
		repeat()
		if waited := time.Since(began); waited < 10*time.Second {
			t.Errorf("the first repeat was waited for %s", waited)
		}
		load = Load{}
		repeat()
		fresh := time.Now()
		repeat()
		a, b := trial.Result(0, "a"), trial.Result(2, "a")
		if a.Latency.Stable || !strings.Contains(a.Latency.Why, "the machine was busy") || strings.Contains(b.Latency.Why, "the machine was busy") {
			t.Errorf("all: %q, the fresh one: %q", a.Latency.Why, b.Latency.Why)
		}
		if !a.StartedAt.Before(b.StartedAt) || b.StartedAt.Before(fresh.UTC()) {
			t.Errorf("all began at %s, the fresh one at %s, after %s", a.StartedAt, b.StartedAt, fresh.UTC())
		}
		if a.Context.Pinned != "0" || a.Latency.Repeats != 3 || b.Latency.Repeats != 1 {
			t.Errorf("pinned to %q, %d and %d repeats", a.Context.Pinned, a.Latency.Repeats, b.Latency.Repeats)
		}
	})
}

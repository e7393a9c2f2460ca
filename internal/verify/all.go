package verify

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// All verifies combinations, this many at a time, and returns what became of each,
// in order. done hears of each as soon as it is known, of one at a time.
func (v Verifier) All(ctx context.Context, all []Combination, workers int, done func(Outcome)) ([]Outcome, error) {
	return each(ctx, all, workers, v.Verify, done)
}

func each(ctx context.Context, all []Combination, workers int, verify func(context.Context, Combination) (Outcome, error), done func(Outcome)) ([]Outcome, error) {
	found := make([]Outcome, len(all))
	var telling sync.Mutex
	g, stopped := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i, c := range all {
		g.Go(func() error {
			if stopped.Err() != nil {
				return context.Cause(stopped)
			}
			o, err := verify(stopped, c)
			if err != nil {
				return err
			}
			found[i] = o
			telling.Lock()
			defer telling.Unlock()
			done(o)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return found, context.Cause(stopped) // the caller's own reason, if that came first
	}
	return found, context.Cause(ctx) // it may have come after the last one
}

// Count counts outcomes by their state, and the broken models that were tried
// and noticed.
func Count(found []Outcome) map[string]int {
	t := map[string]int{string(Passed): 0, string(Failed): 0, string(NotHere): 0, "tried": 0, "noticed": 0}
	for _, o := range found {
		t[string(o.State)]++
		tried, noticed := o.Tried()
		t["tried"] += tried
		t["noticed"] += noticed
	}
	return t
}

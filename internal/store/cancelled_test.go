//go:build cgo

package store

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCancelledAnywhere: wherever a question is cut off, the next one in the same process has its answer.
func TestCancelledAnywhere(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "run-0", result(0), result(1))
	answer(t, s, "SELECT 1")
	begun := time.Now()
	answer(t, s, "SELECT count(*) FROM results")
	whole := time.Since(begun) // what one takes here that is not cut off
	var turn, cut atomic.Int64
	var work sync.WaitGroup
	for range 6 {
		work.Go(func() {
			for n := turn.Add(1); n <= 150; n = turn.Add(1) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(whole*time.Duration(n*997%60)/30, cancel)
				if _, err := s.Query(ctx, "SELECT count(*) FROM results"); err != nil {
					cut.Add(1)
				}
				cancel()
			}
		})
	}
	work.Go(func() { // and what is new is loaded meanwhile
		for n := 1; n <= 10; n++ {
			write(t, s, "later-"+string(rune('a'+n)), result(n))
			time.Sleep(100 * time.Millisecond)
		}
	})
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("a question waits for ever after %d that were cut off", cut.Load())
	}
	if cut.Load() < 10 {
		t.Errorf("only %d questions were cut off", cut.Load())
	}
	if got := answer(t, s, "SELECT count(*) AS n FROM results"); got != "n\n12\n" {
		t.Error(got)
	}
}

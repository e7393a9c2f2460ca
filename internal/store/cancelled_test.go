//go:build cgo

package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCancelledAnywhere: wherever a question is cut off, the next one in the same process has its answer.
func TestCancelledAnywhere(t *testing.T) {
	t.Parallel()
	const ask = "SELECT count(*) AS n FROM results"
	var turn, cut atomic.Int64
	var work sync.WaitGroup
	for range 8 {
		s := newStore(t)
		write(t, s, "run-0", result(0), result(1))
		answer(t, s, ask)
		begun := time.Now()
		answer(t, s, ask)
		whole := time.Since(begun) // what one takes here that is not cut off
		work.Go(func() {
			held := int64(2)
			for n := turn.Add(1); n <= 320; n = turn.Add(1) {
				if n%8 == 0 { // what is new is loaded by a question that is cut off, or by a later one
					write(t, s, fmt.Sprintf("run-%d", n), result(0))
					held++
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(whole*time.Duration(n*997%64)/32, cancel)
				if _, err := s.Query(ctx, ask); err != nil {
					cut.Add(1)
				}
				cancel()
			}
			rows, err := s.Query(t.Context(), ask)
			if err != nil || len(rows.Values) != 1 || rows.Values[0][0] != held {
				t.Errorf("%+v, %v", rows, err)
			}
		})
	}
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
}

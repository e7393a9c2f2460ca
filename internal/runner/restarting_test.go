package runner

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// inTurn starts runners with these behaviours, the last one again and again.
func inTurn(t *testing.T, names ...string) func(context.Context) (Runner, error) {
	var n atomic.Int64
	return func(ctx context.Context) (Runner, error) {
		i := int(n.Add(1)) - 1
		p, err := Start(ctx, as(t, names[min(i, len(names)-1)]), quick)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}

func restarting(t *testing.T, names ...string) *Restarting {
	t.Helper()
	r, err := NewRestarting(t.Context(), inTurn(t, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestRestartsAndTellsTheJob(t *testing.T) {
	t.Parallel()
	r := restarting(t, "dies after started", "good")
	var lost *LostError
	if _, err := r.Run(t.Context(), Job{}, nil); !errors.As(err, &lost) || !lost.Started {
		t.Fatalf("got %v, want a LostError", err)
	}
	if exit, err := r.Run(t.Context(), Job{}, nil); err != nil || exit.Outcome() != Finished {
		t.Fatalf("%v, %v after the restart", exit, err)
	}
	if r.Hello().Runner != "test" {
		t.Error("no hello after the restart")
	}
}

func TestJobThatHadNotBegunIsCarriedOut(t *testing.T) {
	t.Parallel()
	r := restarting(t, "dies at a job", "good")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if exit, err := r.Run(t.Context(), Job{}, nil); err != nil || exit.Outcome() != Finished {
				t.Errorf("%v, %v", exit, err)
			}
		})
	}
	wg.Wait()
}

// An import before the fork that starts threads costs one runner, once.
func TestASpoiltRunnerIsAskedWithoutPreload(t *testing.T) {
	t.Parallel()
	var starts atomic.Int64
	r, err := NewRestarting(t.Context(), func(ctx context.Context) (Runner, error) {
		starts.Add(1)
		return inTurn(t, "spoilt by preload")(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 5 {
		if exit, err := r.Run(t.Context(), Job{Preload: true}, nil); err != nil || exit.Outcome() != Finished {
			t.Fatalf("%v, %v", exit, err)
		}
	}
	if starts.Load() != 2 {
		t.Errorf("%d runners were started, want 2", starts.Load())
	}
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	for _, later := range []string{"dies after started", "dead at once"} {
		t.Run(later, func(t *testing.T) {
			t.Parallel()
			r := restarting(t, "dies after started", later)
			var gaveUp *GaveUpError
			var err error
			for range mostDeaths + 1 {
				_, err = r.Run(t.Context(), Job{}, nil)
			}
			if !errors.As(err, &gaveUp) || gaveUp.Deaths != mostDeaths || gaveUp.Stderr == "" || !strings.Contains(err.Error(), "last output") {
				t.Errorf("got %v, want a GaveUpError after %d deaths with the last output of the runner", err, mostDeaths)
			}
		})
	}
}

// What killed the runners may have passed: after a while one more is tried, and one death suffices to give up again.
func TestTriesAgainLater(t *testing.T) {
	t.Parallel()
	r := restarting(t, "dies after started", "dies after started", "dies after started", "dies after started", "good")
	r.rest = 50 * time.Millisecond
	var gaveUp *GaveUpError
	for range mostDeaths {
		if _, err := r.Run(t.Context(), Job{}, nil); err == nil || errors.As(err, &gaveUp) {
			t.Fatalf("got %v, want that the runner died", err)
		}
	}
	time.Sleep(2 * r.rest)
	if _, err := r.Run(t.Context(), Job{}, nil); err == nil || errors.As(err, &gaveUp) {
		t.Errorf("got %v, want that one more was tried and died", err)
	}
	if _, err := r.Run(t.Context(), Job{}, nil); !errors.As(err, &gaveUp) {
		t.Errorf("got %v, want that it gave up again", err)
	}
	time.Sleep(2 * r.rest)
	if exit, err := r.Run(t.Context(), Job{}, nil); err != nil || exit.Outcome() != Finished {
		t.Errorf("%v, %v once it could be started", exit, err)
	}
}

func TestDeathsAfterWorkAreForgiven(t *testing.T) {
	t.Parallel()
	r := restarting(t, "two exits") // finishes a job, then is killed for its second exit
	for i := range 4 * mostDeaths {
		if exit, err := r.Run(t.Context(), Job{}, nil); err != nil || exit.Outcome() != Finished {
			t.Fatalf("job %d: %v, %v", i, exit, err)
		}
	}
}

func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	r := restarting(t, "dies after started", "never ready")
	if _, err := r.Run(t.Context(), Job{}, nil); err == nil {
		t.Fatal("the first runner was to die")
	}
	result := make(chan error)
	go func() {
		_, err := r.Run(context.Background(), Job{}, nil)
		result <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-result; err == nil {
		t.Error("a job of a runner that was closed while it started was run")
	}
}

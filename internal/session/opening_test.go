package session

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/lazy"
	"assay/internal/runner"
)

// installing is an environment that takes an hour to make and, when it is
// stopped, a second to clear up.
func installing(made *atomic.Int32) func(context.Context) (environment.Environment, error) {
	return func(ctx context.Context) (environment.Environment, error) {
		made.Add(1)
		select {
		case <-time.After(time.Hour):
			return environment.Environment{ID: "made"}, nil
		case <-ctx.Done():
			time.Sleep(time.Second)
			made.Add(-1)
			return environment.Environment{}, context.Cause(ctx)
		}
	}
}

var errLeft = errors.New("the guest left")

// TestACallerLeavesAnInstallation: of two who wait for the environment one
// leaves at once, and the other gets the runner. Nothing else is held up.
func TestACallerLeavesAnInstallation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		s := scriptedSession(t, &scripted{}, Options{Environments: faked{python: installing(&made)}})
		leaving, leave := context.WithCancelCause(t.Context())
		plan := cell.Plan{Cells: []cell.Cell{cell.Cell{Type: "bert"}.Normal()}}
		began := time.Now()
		left, stayed := make(chan error, 1), make(chan error, 1)
		go func() { left <- s.Ready(leaving, plan) }()
		synctest.Wait() // it comes first, and has it made
		go func() { _, err := s.Versions(t.Context()); stayed <- err }()
		time.Sleep(time.Minute)
		if id := s.Host().ID; id == "" || time.Since(began) != time.Minute {
			t.Error("who asks for the host waits for the environment")
		}
		if _, ok := s.Detected(); ok {
			t.Error("a detection was made by itself")
		}
		leave(errLeft)
		if err := <-left; !errors.Is(err, errLeft) || time.Since(began) != time.Minute {
			t.Errorf("who left got %v after %v", err, time.Since(began))
		}
		if err := <-stayed; err != nil || time.Since(began) != time.Hour {
			t.Errorf("who stayed got %v after %v", err, time.Since(began))
		}
		if n := made.Load(); n != 1 {
			t.Errorf("it was made %d times", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCloseWaitsForWhatWasStopped: who is interrupted returns at once; when the
// session is closed nothing of the installation is left.
func TestCloseWaitsForWhatWasStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		s := scriptedSession(t, &scripted{}, Options{Environments: faked{python: installing(&made)}})
		ctx, interrupt := context.WithCancelCause(t.Context())
		got := make(chan error, 1)
		go func() { _, err := s.Report(ctx); got <- err }()
		time.Sleep(time.Minute)
		interrupt(ErrInterrupted)
		if err := <-got; !errors.Is(err, ErrInterrupted) || made.Load() != 1 {
			t.Errorf("got %v while %d installations went on", err, made.Load())
		}
		if err := s.Close(); err != nil || made.Load() != 0 {
			t.Errorf("%d installations go on after Close, %v", made.Load(), err)
		}
		if _, err := s.Versions(t.Context()); !errors.Is(err, lazy.ErrClosed) {
			t.Errorf("a closed session answers %v", err)
		}
	})
}

// TestPartsAreMadeOnce: a runner is started once for all that need it, and
// closed with the session.
func TestPartsAreMadeOnce(t *testing.T) {
	t.Parallel()
	r := &scripted{}
	s := scriptedSession(t, r, Options{})
	starts := 0
	inner := s.start
	s.start = func(ctx context.Context, env environment.Environment, bare bool) (runner.Runner, error) {
		starts++
		return inner(ctx, env, bare)
	}
	for range 3 {
		if _, err := s.Versions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if starts != 1 || r.closed != 1 {
		t.Errorf("started %d times, closed %d times", starts, r.closed)
	}
}

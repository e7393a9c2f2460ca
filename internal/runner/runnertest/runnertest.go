// Package runnertest is the conformance suite of runners: what docs/protocol.md
// promises, tried out. A runner passes it from a test file of twenty lines:
//
//	func TestConformance(t *testing.T) {
//		runnertest.Run(t, func(t *testing.T) runner.Runner { … })
//	}
//
// The runner must run no-op jobs, and be restarted when it dies. The
// suite starts its own runners for what harms them, and checks after each
// that nothing is left: no process, no zombie.
package runnertest

import (
	"os"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/runner"
)

// limit bounds every single job of the suite.
const limit = 30 * time.Second

// soon is how quickly everything must be gone after a death.
const soon = time.Second

// Run tries a runner. start makes a new one each time; the suite closes it.
func Run(t *testing.T, start func(t *testing.T) runner.Runner) {
	if file := os.Getenv(helperVariable); file != "" {
		beHelper(t, start, file)
	}
	s := suite{start}
	t.Run("shared", s.shared)
	for _, c := range []struct {
		name string
		try  func(*testing.T)
	}{
		{"close while busy", s.closeWhileBusy},
		{"runner killed", s.runnerKilled},
		{"assay killed", s.assayKilled},
		{"closed", s.closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.try(t)
		})
	}
}

type suite struct {
	start func(t *testing.T) runner.Runner
}

// shared tries what must not harm a runner on one and the same runner, all at
// once: what one job does must not reach another.
func (s suite) shared(t *testing.T) {
	t.Parallel()
	r := s.start(t)
	t.Cleanup(func() { closeRunner(t, r) })
	for _, c := range jobs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.try(t, r)
		})
	}
}

func closeRunner(t *testing.T, r runner.Runner) {
	t.Helper()
	pid := r.Hello().PID
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	expectGone(t, pid)
}

// noop is a job that does what task says.
func noop(task string, options map[string]any) runner.Job {
	return runner.Job{
		Kind:    runner.NoopJob,
		Cell:    cell.Cell{Type: "noop", Engine: "noop", Task: task},
		Options: options,
	}
}

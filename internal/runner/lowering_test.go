package runner

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
)

// aged is a runner whose children die of an illegal instruction above a level.
type aged struct {
	Runner
	lives map[string]Exit // by the level; absent is a death
	says  []Event
	err   error
	ran   []string
	in    []string // which children
}

func (a *aged) Run(_ context.Context, job Job, on func(Event)) (Exit, error) {
	level := job.Env["ISA"]
	a.ran, a.in = append(a.ran, level), append(a.in, job.Reuse)
	for _, e := range a.says {
		on(e)
	}
	if exit, ok := a.lives[level]; ok {
		return exit, nil
	}
	return Exit{Signal: int(syscall.SIGILL)}, a.err
}

func TestLowering(t *testing.T) {
	t.Parallel()
	below := map[string]string{"": "B", "B": "C"}
	point := PointDone{}
	for _, c := range []struct {
		name  string
		inner aged
		now   string
		ran   []string
		lived string // what the host learns
		again int
		dies  bool

		elsewhere bool // nothing that reads the variable computes
	}{
		{name: "it lives", inner: aged{lives: map[string]Exit{"": {}}}, ran: []string{""}},
		{name: "it lives lower", inner: aged{lives: map[string]Exit{"B": {}}}, ran: []string{"", "B"}, lived: "→B", again: 1},
		{name: "the host is low already", inner: aged{lives: map[string]Exit{"B": {}}}, now: "B", ran: []string{"B"}},
		{name: "lower still", inner: aged{lives: map[string]Exit{"C": {}}}, now: "B", ran: []string{"B", "C"}, lived: "B→C", again: 1},
		{name: "no lower level", inner: aged{}, now: "C", ran: []string{"C"}, dies: true},
		// A trap that a library made is not a reason to lower the host for ever.
		{name: "it dies in any case", inner: aged{}, ran: []string{"", "B"}, again: 1, dies: true},
		{name: "it raises lower", inner: aged{lives: map[string]Exit{"B": {Status: 1}}}, ran: []string{"", "B"}, again: 1},
		{name: "another signal", inner: aged{lives: map[string]Exit{"": {Signal: int(syscall.SIGSEGV)}}}, ran: []string{""}},
		{name: "killed", inner: aged{lives: map[string]Exit{"": {Signal: int(syscall.SIGILL), Killed: "timeout"}}}, ran: []string{""}, dies: true},
		{name: "it had answered", inner: aged{says: []Event{point, point}}, ran: []string{""}, dies: true},
		{name: "it had answered half", inner: aged{says: []Event{point}, lives: map[string]Exit{"B": {}}}, ran: []string{"", "B"}, lived: "→B", again: 1},
		{name: "it had answered a question", inner: aged{says: []Event{Data{}}}, ran: []string{""}, dies: true},
		// The trap of a library that does not read the variable: a lucky second try would lower the host for ever.
		{name: "another library", inner: aged{lives: map[string]Exit{"B": {}}}, elsewhere: true, ran: []string{""}, dies: true},
		{name: "the runner was lost", inner: aged{err: errors.New("lost")}, ran: []string{""}, dies: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lived, again := "", 0
			var at []string
			l := Lowering{Runner: &c.inner, Levels: Levels{
				Variable: "ISA", Now: func() string { return c.now }, Below: func(level string) string { return below[level] },
				Bounds: func(Job) bool { return !c.elsewhere },
				Lived:  func(_ cell.Cell, died, at string) { lived = died + "→" + at },
			}}
			job := Job{Points: []Point{{}, {}}, Reuse: "cuda:0"}
			exit, err := l.Run(t.Context(), job, func(e Event) {
				switch e := e.(type) {
				case Again:
					again++
				case AtLevel:
					at = append(at, e.Level)
				}
			})
			if diff := cmp.Diff(c.ran, c.inner.ran); diff != "" || lived != c.lived || again != c.again || (exit.Signal == int(syscall.SIGILL)) != c.dies || !errors.Is(err, c.inner.err) {
				t.Errorf("lived %q, again %d, %v, %v; ran (-want +got):\n%s", lived, again, exit, err, diff)
			}
			if diff := cmp.Diff(c.inner.ran, at); diff != "" {
				t.Errorf("it does not say the levels that it ran with (-ran +said):\n%s", diff)
			}
			for i, level := range c.inner.ran {
				if want := strings.TrimSpace("cuda:0 " + level); c.inner.in[i] != want {
					t.Errorf("at level %q it ran in the children %q, want %q", level, c.inner.in[i], want)
				}
			}
			if job.Env != nil {
				t.Error("the caller's job was changed")
			}
		})
	}
}

// TestNoRetryWhenStopped: nobody is waiting for a second try.
func TestNoRetryWhenStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	inner := &aged{}
	l := Lowering{Runner: inner, Levels: Levels{Variable: "ISA", Now: func() string { return "" }, Below: func(string) string { return "B" }, Bounds: func(Job) bool { return true }}}
	if exit, err := l.Run(ctx, Job{}, nil); err != nil || !exit.Illegal() || len(inner.ran) != 1 {
		t.Errorf("%v, %v, ran %q", exit, err, inner.ran)
	}
}

package runner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// mostDeaths is how many runners in a row may die without finishing a job
// before no more are started for a while.
const mostDeaths = 3

// rest is how long that is: what killed them, such as a machine without memory, may pass.
const rest = 10 * time.Second

// Restarting is a Runner that starts a new runner when the old one dies.
//
// A job that was under way gets its *LostError: it may have been the cause,
// so whether to try it again is the caller's decision. A job whose child had
// not begun is run by the next runner, and nobody notices.
type Restarting struct {
	start func(context.Context) (Runner, error)
	life  context.Context // ends with Close
	close context.CancelFunc
	rest  time.Duration

	// noPreload is set once an import before the fork has spoilt a runner.
	noPreload atomic.Bool

	mu     sync.Mutex
	hello  Hello
	now    *incarnation // nil when the last one died
	deaths int          // in a row, without a finished job
	gaveUp *GaveUpError
	resume time.Time // when one more is tried after that
	closed bool
}

// incarnation is one runner, possibly still starting.
type incarnation struct {
	ready    chan struct{} // closed when runner or err is set
	runner   Runner
	err      error
	finished atomic.Bool // whether it has finished a job
}

// NewRestarting starts the first runner and returns when it is ready. ctx
// bounds only this; start is called again, with a context of its own, for
// each further runner.
func NewRestarting(ctx context.Context, start func(context.Context) (Runner, error)) (*Restarting, error) {
	first, err := start(ctx)
	if err != nil {
		return nil, err
	}
	r := &Restarting{start: start, rest: rest, hello: first.Hello(), now: &incarnation{ready: make(chan struct{}), runner: first}}
	close(r.now.ready)
	r.life, r.close = context.WithCancel(context.Background())
	return r, nil
}

// Hello is the newest runner's.
func (r *Restarting) Hello() Hello {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hello
}

// Run runs one job; see Runner.
func (r *Restarting) Run(ctx context.Context, job Job, on func(Event)) (Exit, error) {
	for attempt := 0; ; attempt++ {
		now, err := r.current(ctx)
		if err != nil {
			return Exit{}, err
		}
		job.Preload = job.Preload && !r.noPreload.Load()
		exit, err := now.runner.Run(ctx, job, on)
		var lost *LostError
		switch {
		case err == nil && exit.StartError != "" && job.Preload:
			// What was imported for the job started threads and spoilt the
			// runner, which ends by itself. A fresh one is asked without, as
			// is every later job: the environment will not change.
			r.noPreload.Store(true)
			r.mourn(now, &LostError{Why: exit.StartError})
		case errors.As(err, &lost):
			r.mourn(now, lost)
			if lost.Started || attempt > 0 || r.isClosed() {
				return Exit{}, err
			}
		case err != nil:
			return Exit{}, err
		default:
			now.finished.Store(true)
			return exit, nil
		}
	}
}

// current is the living runner. It starts one if there is none, and many
// jobs may wait for it at once.
func (r *Restarting) current(ctx context.Context) (*incarnation, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, &LostError{Why: "the runner was closed"}
	}
	if r.gaveUp != nil && time.Now().Before(r.resume) {
		defer r.mu.Unlock()
		return nil, r.gaveUp
	}
	if r.now == nil {
		r.now = &incarnation{ready: make(chan struct{})}
		go r.restart(r.now)
	}
	now := r.now
	r.mu.Unlock()
	select {
	case <-now.ready:
		return now, now.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// restart fills an incarnation in. A runner that cannot be started once it
// ran before counts as a death.
func (r *Restarting) restart(now *incarnation) {
	defer close(now.ready)
	now.runner, now.err = r.start(r.life)
	if now.err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hello = now.runner.Hello()
		return
	}
	now.runner = nil
	var failed *StartError
	stderr := ""
	if errors.As(now.err, &failed) {
		stderr = failed.Stderr
	}
	r.bury(now, stderr, now.err)
}

// mourn notes that a runner died; the first of its jobs to say so counts.
func (r *Restarting) mourn(dead *incarnation, why *LostError) {
	_ = dead.runner.Close()
	r.bury(dead, why.Stderr, why)
}

func (r *Restarting) bury(dead *incarnation, stderr string, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != dead || r.closed {
		return
	}
	r.now = nil
	r.deaths++
	if dead.finished.Load() {
		r.deaths = 1
	}
	if r.deaths >= mostDeaths {
		r.gaveUp = &GaveUpError{Deaths: r.deaths, Stderr: stderr, Err: why}
		r.resume = time.Now().Add(r.rest)
	}
}

func (r *Restarting) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// Close ends the runner, also one that is just starting.
func (r *Restarting) Close() error {
	r.mu.Lock()
	now := r.now
	r.closed = true
	r.mu.Unlock()
	r.close()
	if now == nil {
		return nil
	}
	<-now.ready
	if now.runner == nil {
		return nil
	}
	return now.runner.Close()
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// running is a job under way. Its messages come from the reading goroutine,
// which closes the channel if the runner is lost.
type running struct {
	id       string
	messages chan message
	started  atomic.Bool
	pgid     atomic.Int64 // of the child's group, where systems have groups
}

// Hello is what the runner said about itself.
func (p *Process) Hello() Hello { return p.hello }

// Done is closed when the runner has ended and nothing of it is left.
func (p *Process) Done() <-chan struct{} { return p.done }

// Run runs one job; see Runner.
func (p *Process) Run(ctx context.Context, job Job, on func(Event)) (Exit, error) {
	if err := context.Cause(ctx); err != nil {
		return Exit{}, err
	}
	r, err := p.begin()
	if err != nil {
		return Exit{}, err
	}
	line, err := request{Op: "run", ID: r.id, Job: &job}.line()
	if err != nil {
		p.forget(r)
		return Exit{}, err
	}
	p.send(line)
	if on == nil {
		on = func(Event) {}
	}
	return p.follow(ctx, r, on)
}

// begin makes a place for a job.
func (p *Process) begin() (*running, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead || p.closing {
		return nil, p.lost(false)
	}
	p.lastID++
	r := &running{id: strconv.Itoa(p.lastID), messages: make(chan message, 16)}
	p.jobs[r.id] = r
	return r, nil
}

// forget gives up a place whose job was never sent.
func (p *Process) forget(r *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, r.id)
}

// send queues a line unless the runner is gone.
func (p *Process) send(line []byte) {
	select {
	case p.out <- line:
	case <-p.done:
	}
}

// follow hands events on until the exit, and enforces ctx's end.
func (p *Process) follow(ctx context.Context, r *running, on func(Event)) (Exit, error) {
	ended := ctx.Done()
	var grace <-chan time.Time
	for {
		select {
		case m, ok := <-r.messages:
			switch {
			case !ok:
				return Exit{}, p.lostNow(r.started.Load())
			case m.exit != nil:
				return *m.exit, nil
			}
			on(m.event)
		case <-ended:
			ended = nil
			timer := time.NewTimer(p.limits.Grace)
			defer timer.Stop()
			grace = timer.C
			p.kill(r, killReason(ctx))
		case <-grace:
			grace = nil
			p.end(fmt.Sprintf("the runner did not end a job within %v of being asked to, and was killed", p.limits.Grace))
		}
	}
}

// kill asks the runner to kill the job's process group. A runner that does
// not even take the message is left to the grace.
func (p *Process) kill(r *running, reason string) {
	line, err := request{Op: "kill", ID: r.id, Reason: reason}.line()
	if err != nil {
		return
	}
	select {
	case p.out <- line:
	default:
		go p.send(line)
	}
}

func killReason(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "timeout"
	}
	return "cancelled"
}

func (p *Process) lostNow(started bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost(started)
}

// lost needs the lock.
func (p *Process) lost(started bool) error {
	why := p.why
	if why == "" {
		why = "the runner is gone"
	}
	return &LostError{Why: why, Started: started, Stderr: p.stderr.String()}
}

// Close ends the runner and waits until nothing of it is left.
func (p *Process) Close() error {
	p.mu.Lock()
	again := p.closing
	p.closing = true
	p.mu.Unlock()
	if !again {
		p.note("the runner was closed")
		p.stdin.Close() // the end of its input is its bye
	}
	select {
	case <-p.done:
	case <-time.After(p.limits.Grace):
		p.end("the runner was closed")
		<-p.done
	}
	return nil
}

package pool

import (
	"context"
	"fmt"
	"sync"
)

// turns lets so many in at once, so many more wait in order, and refuses the rest.
type turns struct {
	limit, bound int

	mu      sync.Mutex
	inside  int
	waiting []chan struct{} // closed when it is one's turn
	closed  bool
}

func newTurns(limit, bound int) *turns { return &turns{limit: max(1, limit), bound: max(0, bound)} }

// enter waits for a turn; what it returns ends it.
func (t *turns) enter(ctx context.Context) (leave func(), err error) {
	t.mu.Lock()
	switch {
	case t.closed:
		t.mu.Unlock()
		return nil, errClosed
	case t.inside < t.limit:
		t.inside++
		t.mu.Unlock()
		return sync.OnceFunc(t.leave), nil
	case len(t.waiting) >= t.bound:
		t.mu.Unlock()
		return nil, &BusyError{Queue: true, Why: fmt.Sprintf("%d requests run and %d wait, which is all that may", t.limit, t.bound)}
	}
	turn := make(chan struct{})
	t.waiting = append(t.waiting, turn)
	t.mu.Unlock()
	select {
	case <-turn:
		if t.isClosed() {
			t.leave()
			return nil, errClosed
		}
		return sync.OnceFunc(t.leave), nil
	case <-ctx.Done():
		t.abandon(turn)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// leave hands the turn to who waits longest.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.inside--
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}

// abandon takes one who left out of the row; a turn that came meanwhile goes on.
func (t *turns) abandon(turn chan struct{}) {
	t.mu.Lock()
	for i, w := range t.waiting {
		if w == turn {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			t.mu.Unlock()
			return
		}
	}
	t.mu.Unlock()
	t.leave()
}

// close lets everybody who waits go.
func (t *turns) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, w := range t.waiting {
		t.inside++
		close(w)
	}
	t.waiting = nil
}

func (t *turns) counts() (inside, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inside, len(t.waiting)
}

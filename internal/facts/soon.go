package facts

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/internal/cell"
)

// ErrDeriving says that an answer is being worked out for whoever asks again.
var ErrDeriving = errors.New("its facts are being derived, which takes some seconds: ask again")

// ErrManyDeriving says that it is the turn of others.
var ErrManyDeriving = errors.New("the facts of other models are being derived: ask again")

// Sources are where facts come from.
type Sources struct {
	// Known is what needs no runner; false where there is nothing.
	Known func(context.Context, cell.Cell) (Answer, bool, error)
	// Derive may take long, and keeps what it finds where Known looks.
	Derive func(context.Context, cell.Cell) (Answer, error)
}

// Soon answers within a time, or says that it is working: to derive facts, torch must
// be imported, which takes seconds, and a minute on a busy machine. What was begun goes
// on when the asker has left, and the next one has it. Make one with NewSoon and close it.
type Soon struct {
	from     Sources
	patience time.Duration
	life     context.Context //nolint:containedctx // ended by Close
	end      context.CancelFunc
	work     sync.WaitGroup

	mu    sync.Mutex
	tries map[cell.Cell]*try
}

// The limits of Soon: each try under way has a process, and each that is over holds an answer until somebody asks.
const (
	mostUnderWay = 2
	mostTries    = 64
)

// try is one. Its answer and err may be read once done is closed.
type try struct {
	done   chan struct{}
	answer Answer
	err    error
}

func (t *try) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// NewSoon lets nobody wait for longer than patience.
func NewSoon(from Sources, patience time.Duration) *Soon {
	s := &Soon{from: from, patience: patience, tries: map[cell.Cell]*try{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends what is under way, and waits for it.
func (s *Soon) Close() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.work.Wait()
}

// Facts are a cell's, where they are known in time; else the error is ErrDeriving or ErrManyDeriving.
func (s *Soon) Facts(ctx context.Context, c cell.Cell) (Answer, error) {
	if known, ok, err := s.from.Known(ctx, c); ok || err != nil {
		return known, err
	}
	t := s.begin(c)
	if t == nil {
		return Answer{}, ErrManyDeriving
	}
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	select {
	case <-t.done:
		s.forget(c, t)
		return t.answer, t.err
	case <-patience.C:
		return Answer{}, ErrDeriving
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
}

// begin finds the try for a cell or starts one; nil where it has to wait for others.
func (s *Soon) begin(c cell.Cell) *try {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tries[c]; t != nil {
		return t
	}
	if s.underWay() >= mostUnderWay || s.life.Err() != nil {
		return nil
	}
	t := &try{done: make(chan struct{})}
	s.tries[c] = t
	s.work.Go(func() {
		defer close(t.done)
		t.answer, t.err = s.from.Derive(s.life, c)
	})
	return t
}

// underWay counts tries, and forgets those that are over where nobody asked for too many of them.
func (s *Soon) underWay() int {
	n := 0
	for c, t := range s.tries {
		switch {
		case !t.over():
			n++
		case len(s.tries) >= mostTries:
			delete(s.tries, c)
		}
	}
	return n
}

// forget makes room for another try, by which time Known has the answer of this one.
func (s *Soon) forget(c cell.Cell, t *try) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries[c] == t {
		delete(s.tries, c)
	}
}

package facts

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/cell"
)

// slow derives when it is let, and knows what it has derived.
type slow struct {
	let   chan struct{}
	fails error
	tries atomic.Int64

	mu    sync.Mutex
	known map[cell.Cell]bool
}

func (s *slow) sources() Sources {
	return Sources{
		Known: func(_ context.Context, c cell.Cell) (Answer, bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return Answer{Sheet: &Sheet{Type: c.Type}}, s.known[c], nil
		},
		Derive: func(ctx context.Context, c cell.Cell) (Answer, error) {
			s.tries.Add(1)
			select {
			case <-s.let:
			case <-ctx.Done():
				return Answer{}, context.Cause(ctx)
			}
			if s.fails != nil {
				return Answer{}, s.fails
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.known[c] = true
			return Answer{Sheet: &Sheet{Type: c.Type}}, nil
		},
	}
}

func newSlow() *slow { return &slow{let: make(chan struct{}), known: map[cell.Cell]bool{}} }

// later asks until the answer is there.
func later(t *testing.T, s *Soon, c cell.Cell) (Answer, error) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if a, err := s.Facts(t.Context(), c); !errors.Is(err, ErrDeriving) && !errors.Is(err, ErrManyDeriving) {
			return a, err
		}
	}
	t.Fatal("there was no answer")
	return Answer{}, nil
}

// TestSoon: who asks for what takes long is told so, and has it later; one try serves all who ask, even those who left.
func TestSoon(t *testing.T) {
	t.Parallel()
	from := newSlow()
	s := NewSoon(from.sources(), time.Millisecond)
	defer s.Close()
	bert := cell.Cell{Type: "bert"}
	for range 3 {
		if _, err := s.Facts(t.Context(), bert); !errors.Is(err, ErrDeriving) {
			t.Fatal(err)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Facts(gone, bert); err == nil {
		t.Error("an answer out of nowhere")
	}
	close(from.let)
	if a, err := later(t, s, bert); err != nil || a.Sheet.Type != "bert" {
		t.Errorf("%+v, %v", a, err)
	}
	if n := from.tries.Load(); n != 1 {
		t.Errorf("%d tries", n)
	}
}

// TestSoonLimits: so many are derived at once and no more, but what is known is told.
func TestSoonLimits(t *testing.T) {
	t.Parallel()
	from := newSlow()
	s := NewSoon(from.sources(), time.Millisecond)
	defer s.Close()
	from.known[cell.Cell{Type: "vit"}] = true
	for _, name := range []string{"a", "b"} {
		if _, err := s.Facts(t.Context(), cell.Cell{Type: name}); !errors.Is(err, ErrDeriving) {
			t.Fatal(err)
		}
	}
	if _, err := s.Facts(t.Context(), cell.Cell{Type: "c"}); !errors.Is(err, ErrManyDeriving) {
		t.Errorf("a third one: %v", err)
	}
	if _, err := s.Facts(t.Context(), cell.Cell{Type: "vit"}); err != nil {
		t.Errorf("what is known: %v", err)
	}
	close(from.let)
	if _, err := later(t, s, cell.Cell{Type: "c"}); err != nil {
		t.Errorf("after the others: %v", err)
	}
}

// TestSoonFails: a failure is told to one who asks, and tried again for the next.
func TestSoonFails(t *testing.T) {
	t.Parallel()
	from := newSlow()
	from.fails = errors.New("it has none")
	close(from.let)
	s := NewSoon(from.sources(), time.Millisecond)
	defer s.Close()
	for range 2 {
		if _, err := later(t, s, cell.Cell{Type: "bert"}); !errors.Is(err, from.fails) {
			t.Error(err)
		}
	}
	if n := from.tries.Load(); n != 2 {
		t.Errorf("%d tries", n)
	}
}

// TestSoonForgets: answers that nobody asks for again do not pile up.
func TestSoonForgets(t *testing.T) {
	t.Parallel()
	from := newSlow()
	from.fails = errors.New("it has none")
	close(from.let)
	s := NewSoon(from.sources(), 0)
	defer s.Close()
	for i := range 5 * mostTries {
		for {
			if _, err := s.Facts(t.Context(), cell.Cell{Type: "bert", Seed: i}); !errors.Is(err, ErrManyDeriving) {
				break
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tries) > mostTries+mostUnderWay {
		t.Errorf("%d are held", len(s.tries))
	}
}

// TestSoonCloses: nothing is under way after Close, and nothing begins.
func TestSoonCloses(t *testing.T) {
	t.Parallel()
	from := newSlow()
	s := NewSoon(from.sources(), time.Millisecond)
	if _, err := s.Facts(t.Context(), cell.Cell{Type: "bert"}); !errors.Is(err, ErrDeriving) {
		t.Fatal(err)
	}
	s.Close()
	if _, err := s.Facts(t.Context(), cell.Cell{Type: "vit"}); !errors.Is(err, ErrManyDeriving) {
		t.Error(err)
	}
}

package filelock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestLocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second Mode
		held          bool
	}{{Shared, Shared, false}, {Shared, Exclusive, true}, {Exclusive, Shared, true}, {Exclusive, Exclusive, true}} {
		path := filepath.Join(t.TempDir(), "x.lock")
		a, err := Wait(t.Context(), path, c.first, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		told := false
		b, err := Wait(t.Context(), path, c.second, 5*time.Millisecond, func() { told = true })
		if errors.Is(err, ErrHeld) != c.held || told != c.held {
			t.Errorf("%v: %v, told %v", c, err, told)
		}
		if err == nil {
			b.Close()
		}
		time.AfterFunc(20*time.Millisecond, func() { a.Close() })
		b, err = Wait(t.Context(), path, c.second, 10*time.Second, nil)
		if err != nil {
			t.Errorf("%v: after the first was closed: %v", c, err)
			continue
		}
		b.Close()
	}
}

func TestWaitStops(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	a, err := Wait(t.Context(), path, Exclusive, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Wait(ctx, path, Exclusive, time.Hour, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

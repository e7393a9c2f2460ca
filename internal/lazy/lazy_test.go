package lazy

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asked is what one caller got.
type asked struct {
	value string
	err   error
	after time.Duration
}

// ask asks in the background.
func ask(ctx context.Context, v *Value[string]) <-chan asked {
	out := make(chan asked, 1)
	began := time.Now()
	go func() {
		value, err := v.Get(ctx)
		out <- asked{value, err, time.Since(began)}
	}()
	return out
}

// slow makes a value in an hour, unless its context ends before; made counts tries.
func slow(made *atomic.Int32) *Value[string] {
	return New(func(ctx context.Context) (string, error) {
		made.Add(1)
		select {
		case <-time.After(time.Hour):
			return "it", nil
		case <-ctx.Done():
			time.Sleep(time.Second) // to clear up
			return "", context.Cause(ctx)
		}
	})
}

var errLeft = errors.New("the caller left")

// One of two callers leaves, whoever came first: it returns at once, and the
// other gets what was being made.
func TestOneOfTwoLeaves(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var made atomic.Int32
			v := slow(&made)
			leaving, leave := context.WithCancelCause(t.Context())
			defer leave(nil)
			a, b := leaving, t.Context()
			if !first {
				a, b = b, a
			}
			ca := ask(a, v)
			synctest.Wait()
			cb := ask(b, v)
			time.Sleep(time.Minute)
			leave(errLeft)
			gone, stays := ca, cb
			if !first {
				gone, stays = cb, ca
			}
			if got := <-gone; !errors.Is(got.err, errLeft) || got.after != time.Minute {
				t.Errorf("who leaves got %+v", got)
			}
			if got := <-stays; got.value != "it" || got.err != nil || got.after != time.Hour {
				t.Errorf("who stays got %+v", got)
			}
			if n := made.Load(); n != 1 {
				t.Errorf("it was made %d times", n)
			}
		})
	}
}

// When the last one leaves the making is cancelled with the reason; who comes
// while it clears up waits for that, and has a try of its own.
func TestAllLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		v := slow(&made)
		ctx, leave := context.WithCancelCause(t.Context())
		a, b := ask(ctx, v), ask(ctx, v)
		time.Sleep(time.Minute)
		leave(errLeft)
		for _, c := range []<-chan asked{a, b} {
			if got := <-c; !errors.Is(got.err, errLeft) || got.after != time.Minute {
				t.Errorf("who leaves got %+v", got)
			}
		}
		if got := <-ask(t.Context(), v); got.value != "it" || got.after != time.Hour+time.Second {
			t.Errorf("who comes then got %+v", got)
		}
		if n := made.Load(); n != 2 {
			t.Errorf("it was made %d times", n)
		}
	})
}

// Many callers at once have it made once, and later ones get it though their
// context has ended.
func TestMadeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		v := New(func(context.Context) (int32, error) {
			time.Sleep(time.Minute) // until all callers wait
			return made.Add(1), nil
		})
		if _, ok := v.Made(); ok {
			t.Error("it is there before anyone asked")
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if n, err := v.Get(t.Context()); n != 1 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			})
		}
		wg.Wait()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := v.Get(over); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if n, ok := v.Made(); n != 1 || !ok || made.Load() != 1 {
			t.Errorf("%d, %v, made %d times", n, ok, made.Load())
		}
		if _, err := New(func(context.Context) (int, error) { return 0, nil }).Get(over); !errors.Is(err, context.Canceled) {
			t.Errorf("something was made for nobody: %v", err)
		}
	})
}

// What could not be made is tried again.
func TestAFailureIsNotKept(t *testing.T) {
	t.Parallel()
	tries := 0
	v := New(func(context.Context) (int, error) {
		tries++
		if tries == 1 {
			return 0, errors.New("no network")
		}
		return tries, nil
	})
	if _, err := v.Get(t.Context()); err == nil || err.Error() != "no network" {
		t.Errorf("got %v", err)
	}
	if _, ok := v.Made(); ok {
		t.Error("a failure counts as made")
	}
	if n, err := v.Get(t.Context()); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// Close undoes what was made, once; it cancels a making and waits for its end.
func TestClose(t *testing.T) {
	t.Parallel()
	undone := 0
	undo := func(string) error { undone++; return nil }
	there := New(func(context.Context) (string, error) { return "it", nil })
	if _, err := there.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := there.Close(undo); err != nil || undone != 1 {
			t.Errorf("undone %d times, %v", undone, err)
		}
	}
	if _, err := there.Get(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed value: %v", err)
	}
	if err := New(func(context.Context) (string, error) { return "it", nil }).Close(undo); err != nil || undone != 1 {
		t.Errorf("what was never made was undone: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		v := slow(&made)
		waiting := ask(t.Context(), v)
		time.Sleep(time.Minute)
		if err := v.Close(undo); err != nil || undone != 1 {
			t.Errorf("undone %d times, %v", undone, err)
		}
		if got := <-waiting; !errors.Is(got.err, ErrClosed) || got.after != time.Minute+time.Second {
			t.Errorf("who waited got %+v", got)
		}
	})
}

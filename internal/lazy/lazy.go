// Package lazy has values that are expensive to make: they are made when first needed,
// at most once at a time, by one goroutine for all who wait.
//
// No lock is held while a value is made. A caller leaves when its own context
// ends, and the work continues for the others; when nobody is waiting it is
// cancelled. What could not be made is tried again by the next caller.
package lazy

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is why a closed value is not available.
var ErrClosed = errors.New("it was closed")

// Value is made when first needed. It is safe for concurrent use.
type Value[T any] struct {
	build func(context.Context) (T, error)

	mu     sync.Mutex
	now    *making[T] // made, or under way; nil when neither
	closed bool
}

// making is one try. Its value and err may be read once done is closed.
type making[T any] struct {
	done   chan struct{}
	value  T
	err    error
	cancel context.CancelCauseFunc

	waiting int // callers; guarded by the value's lock
}

// New returns a value that build makes. The context that build gets ends when
// nobody waits for it, or when it returns: the value must not depend on it.
func New[T any](build func(context.Context) (T, error)) *Value[T] {
	return &Value[T]{build: build}
}

// Get returns the value, making it if need be. It returns with the context's
// cause as soon as ctx ends, unless the value is there.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	for {
		m, mine, err := v.join(ctx)
		if err != nil {
			var none T
			return none, err
		}
		if err := v.wait(ctx, m, mine); err != nil {
			var none T
			return none, err
		}
		if mine {
			return m.value, m.err
		}
	}
}

// join finds the try to wait for, or begins one. mine is false for one that
// everybody has left: it only has to end before the next begins.
func (v *Value[T]) join(ctx context.Context) (m *making[T], mine bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.closed:
		return nil, false, ErrClosed
	case v.now != nil && v.now.over():
		return v.now, true, nil
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case v.now == nil:
		v.now = v.begin(ctx)
	case v.now.waiting == 0:
		return v.now, false, nil
	}
	v.now.waiting++
	return v.now, true, nil
}

// begin starts a try, whose life is not the caller's.
func (v *Value[T]) begin(ctx context.Context) *making[T] {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	m := &making[T]{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer cancel(nil)
		m.value, m.err = v.build(own)
		v.mu.Lock()
		defer v.mu.Unlock()
		if m.err != nil {
			v.now = nil
		}
		close(m.done)
	}()
	return m
}

func (m *making[T]) over() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// wait returns when the try is over, or when ctx ends.
func (v *Value[T]) wait(ctx context.Context, m *making[T], mine bool) error {
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if m.over() {
		return nil
	}
	if mine {
		m.waiting--
	}
	if m.waiting == 0 {
		m.cancel(context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// Made returns the value if it is there, and makes nothing.
func (v *Value[T]) Made() (value T, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now == nil || !v.now.over() {
		return value, false
	}
	return v.now.value, true
}

// Close cancels a making under way, waits until it has ended, and has end undo
// what was made; nil has nothing to undo. Closing again does nothing.
func (v *Value[T]) Close(end func(T) error) error {
	v.mu.Lock()
	m, was := v.now, v.closed
	v.closed = true
	v.mu.Unlock()
	if m == nil || was {
		return nil
	}
	m.cancel(ErrClosed)
	<-m.done
	if m.err == nil && end != nil {
		return end(m.value)
	}
	return nil
}

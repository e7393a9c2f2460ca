// Package filelock holds advisory locks between processes on open files.
//
// A lock belongs to one open file, not to a process: two opens of the same
// file in one process exclude each other like two processes do, and the kernel
// lets a lock go when its holder dies, however it dies. Nothing stale is ever
// left behind, so a lock file is never removed and its presence means nothing.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrHeld says that another open file holds the lock.
var ErrHeld = errors.New("the lock is held elsewhere")

// Mode says with whom a lock may be shared.
type Mode int

// Shared locks stand beside each other; an Exclusive one stands alone.
const (
	Shared Mode = iota
	Exclusive
)

// Try takes the lock on an open file, or returns ErrHeld at once. Closing the
// file lets the lock go.
func Try(f *os.File, m Mode) error { return try(f, m) }

// The waits between two tries of Wait: short at first, since most holders are
// brief.
const (
	firstWait = 2 * time.Millisecond
	lastWait  = 50 * time.Millisecond
)

// Wait opens the file at path, creating it when needed, and takes its lock. It
// tries until limit has passed, then returns ErrHeld. waiting, if not nil, is
// called once, when the lock is found held. Close the file to let go.
func Wait(ctx context.Context, path string, m Mode, limit time.Duration, waiting func()) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := wait(ctx, f, m, limit, waiting); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func wait(ctx context.Context, f *os.File, m Mode, limit time.Duration, waiting func()) error {
	deadline := time.Now().Add(limit)
	for pause := firstWait; ; pause = min(2*pause, lastWait) {
		err := try(f, m)
		if !errors.Is(err, ErrHeld) || time.Now().After(deadline) {
			return err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

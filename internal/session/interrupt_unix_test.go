//go:build !windows

package session

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestInterruptible is not parallel: a signal is for the whole process.
func TestInterruptible(t *testing.T) {
	ctx, stop := Interruptible(t.Context())
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the signal did not end the context")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrInterrupted) {
		t.Errorf("cause %v", cause)
	}
	quiet, end := Interruptible(t.Context())
	end()
	if cause := context.Cause(quiet); errors.Is(cause, ErrInterrupted) || quiet.Err() == nil {
		t.Errorf("ended without a signal: %v", cause)
	}
}

package session

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// ErrInterrupted is the cause of a context that the user ended.
var ErrInterrupted = errors.New("interrupted: what was finished is kept")

// Interruptible returns a context that Ctrl-C and SIGTERM end, so that children
// are killed and journals closed; a second one ends the program at once.
func Interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel(ErrInterrupted)
		if _, ok := <-signals; ok {
			os.Exit(130) //nolint:forbidigo // the user asked twice; nothing may stand in the way
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

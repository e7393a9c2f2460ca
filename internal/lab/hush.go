package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/internal/filelock"
)

// Hush returns the lab's host-wide agreement between programs: those that run
// functional cells hold a shared lock on a file in dir, one that times holds it
// alone. The system releases it when a process dies. The file is the user's
// own: where users share dir its name tells them apart, on Windows each has a
// folder of temporary files.
func Hush(dir string) func(ctx context.Context, alone bool, note func(string)) (func(), error) {
	return func(ctx context.Context, alone bool, note func(string)) (func(), error) {
		path := filepath.Join(dir, fmt.Sprintf("assay-%d.lock", os.Getuid()))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the lock that keeps timed runs apart: %w", err)
		}
		mode := filelock.Shared
		if alone {
			mode = filelock.Exclusive
		}
		if err := locked(ctx, f, mode, note); err != nil {
			_ = f.Close()
			return nil, err
		}
		return func() { _ = f.Close() }, nil
	}
}

// locked waits for the lock, asking ten times a second: nothing of ours is
// being timed while it waits, and a blocking call could not be cancelled.
func locked(ctx context.Context, f *os.File, mode filelock.Mode, note func(string)) error {
	for tries := 0; ; tries++ {
		if err := filelock.Try(f, mode); !errors.Is(err, filelock.ErrHeld) {
			return err
		}
		if tries == 5 {
			note("waiting for another assay on this machine: timed cells run alone")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

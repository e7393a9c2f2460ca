//go:build unix

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Hush returns the lab's host-wide agreement between programs: those that run
// functional cells hold a shared lock on a file in dir, one that times holds it
// alone. The kernel releases it when a process dies.
func Hush(dir string) func(ctx context.Context, alone bool, note func(string)) (func(), error) {
	return func(ctx context.Context, alone bool, note func(string)) (func(), error) {
		path := filepath.Join(dir, fmt.Sprintf("assay-%d.lock", os.Getuid()))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the lock that keeps timed runs apart: %w", err)
		}
		how := unix.LOCK_SH
		if alone {
			how = unix.LOCK_EX
		}
		if err := flock(ctx, f, how, note); err != nil {
			_ = f.Close()
			return nil, err
		}
		return func() { _ = f.Close() }, nil
	}
}

// flock waits for the lock, asking ten times a second: nothing of ours is
// being timed while it waits, and a blocking call could not be cancelled.
func flock(ctx context.Context, f *os.File, how int, note func(string)) error {
	for tries := 0; ; tries++ {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
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

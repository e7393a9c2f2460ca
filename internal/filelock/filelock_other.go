//go:build !windows

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func try(f *os.File, m Mode) error {
	how := syscall.LOCK_SH
	if m == Exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		default:
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

//go:build !windows

package journal

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// isFull tells a lack of room from other errors: no space, over quota, or over
// the largest file that is allowed.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// syncDir makes a new name in the folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

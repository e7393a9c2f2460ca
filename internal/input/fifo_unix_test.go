//go:build unix

package input

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a named pipe waits for its other end, and no signal ends that.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	special := (*SpecialError)(nil)
	if _, err := Open(path); !errors.As(err, &special) || special.Kind != "a named pipe" {
		t.Errorf("%v", err)
	}
}

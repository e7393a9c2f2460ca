//go:build unix

package content

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"assay/internal/input"
)

// A named pipe among a model's files is refused: opening it would wait for its
// other end, and no signal ends that.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pytorch_model.bin")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := (&Book{}).Files(ctx, dir, []string{pipe})
		done <- err
	}()
	select {
	case <-ctx.Done():
		t.Error("it waits for somebody to write to the pipe")
	case err := <-done:
		if special := (*input.SpecialError)(nil); !errors.As(err, &special) || special.Path != pipe {
			t.Errorf("%v", err)
		}
	}
}

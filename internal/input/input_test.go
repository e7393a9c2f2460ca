package input

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(t.Context(), path, nil, 10); string(b) != "{}\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := Read(t.Context(), Stdin, strings.NewReader("{}"), 2); string(b) != "{}" || err != nil {
		t.Errorf("standard input: %q, %v", b, err)
	}
	large, special := (*LargeError)(nil), (*SpecialError)(nil)
	if _, err := Read(t.Context(), path, nil, 2); !errors.As(err, &large) {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := Read(t.Context(), Stdin, nil, 2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no standard input: %v", err)
	}
	for limit, want := range map[int64]string{4 << 10: "x is larger than 4 kB", 16 << 20: "x is larger than 16 MB"} {
		if said := (&LargeError{"x", limit}).Error(); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
	for _, other := range []string{filepath.Dir(path), os.DevNull} {
		if _, err := Read(t.Context(), other, nil, 2); !errors.As(err, &special) {
			t.Errorf("%s: %v", other, err)
		}
	}
	if _, err := Read(t.Context(), path+"x", nil, 2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

// A terminal on which nobody types holds nobody up who wants to leave.
func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	silent, mute := io.Pipe()
	defer mute.Close()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
	if _, err := Read(ctx, Stdin, silent, 1<<20); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
}

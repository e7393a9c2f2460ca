// Package input reads the files that users name. Whatever they name, a read
// ends: at the file's end, at a limit, or when the program is asked to stop.
// What is not a regular file (a FIFO that nobody writes to, a device without an
// end) is refused; standard input is what "-" means.
package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Stdin is the name by which users mean standard input.
const Stdin = "-"

// SpecialError says that a path names no regular file.
type SpecialError struct {
	Path string
	Kind string
}

func (e *SpecialError) Error() string {
	return fmt.Sprintf("%s is %s: a regular file is needed", e.Path, e.Kind)
}

// Is makes a folder what it is for callers who ask.
func (e *SpecialError) Is(target error) bool {
	return target == syscall.EISDIR && e.Kind == "a folder"
}

// LargeError says that there is more than may be read.
type LargeError struct {
	Path  string
	Limit int64
}

func (e *LargeError) Error() string {
	if e.Limit < 1<<20 {
		return fmt.Sprintf("%s is larger than %d kB", e.Path, e.Limit>>10)
	}
	return fmt.Sprintf("%s is larger than %d MB", e.Path, e.Limit>>20)
}

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	// Opening a FIFO would wait for its other end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &SpecialError{path, kindOf(info.Mode())}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func kindOf(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&os.ModeNamedPipe != 0:
		return "a named pipe"
	case m&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Read returns all of a regular file, or of stdin where path is "-", as long as
// it is no larger than limit. It returns when ctx ends, whatever is being read.
// Without a stdin "-" is a file like any other.
func Read(ctx context.Context, path string, stdin io.Reader, limit int64) ([]byte, error) {
	if path == Stdin && stdin != nil {
		return All(ctx, "standard input", stdin, limit)
	}
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return All(ctx, path, f, limit)
}

// All reads r to its end. A read that is under way when ctx ends is left to
// itself: nothing can end one of a terminal or of a pipe.
func All(ctx context.Context, name string, r io.Reader, limit int64) ([]byte, error) {
	return unlessStopped(ctx, func() ([]byte, error) {
		var b bytes.Buffer
		err := copied(ctx, &b, name, r, limit)
		return b.Bytes(), err
	})
}

// Copy is All into a file.
func Copy(ctx context.Context, w io.Writer, name string, r io.Reader, limit int64) error {
	_, err := unlessStopped(ctx, func() ([]byte, error) { return nil, copied(ctx, w, name, r, limit) })
	return err
}

func copied(ctx context.Context, w io.Writer, name string, r io.Reader, limit int64) error {
	n, err := io.Copy(w, io.LimitReader(&until{ctx, r}, limit+1))
	if err == nil && n > limit {
		err = &LargeError{name, limit}
	}
	return err
}

func unlessStopped(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		b   []byte
		err error
	}
	done := make(chan answer, 1)
	go func() {
		b, err := read()
		done <- answer{b, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case a := <-done:
		if a.err != nil {
			return nil, a.err
		}
		return a.b, nil
	}
}

// until reads until a context ends.
type until struct {
	ctx context.Context //nolint:containedctx // the life of one read
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

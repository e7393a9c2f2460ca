package runner

import "sync"

// tailSize is how much of a runner's standard error is kept.
const tailSize = 64 << 10

// tail keeps the last tailSize bytes written to it. It may be read while it
// is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write takes everything and keeps the end.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-tailSize):]...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

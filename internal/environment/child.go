package environment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// tailBytes is how much of an installer's output is kept for explaining.
const tailBytes = 64 << 10

// job is one call of an installer.
type job struct {
	argv    []string
	environ []string
	log     io.Writer         // everything it prints
	line    func(line string) // each line, as it comes; nil if nobody looks
}

// failure is a job that ended badly, with the end of what it printed.
type failure struct {
	argv []string
	err  error
	tail string
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s: %v%s", strings.Join(f.argv[:min(3, len(f.argv))], " "), f.err, quoteLast(f.tail))
}

func (f *failure) Unwrap() error { return f.err }

// run runs the job in its own process group, which is killed whole
// when ctx ends and, where the system can do it, when this process dies.
func (j job) run(ctx context.Context) (string, error) {
	// The kernel's parent-death signal is tied to the thread that started the
	// child, so that thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	out := &tail{log: j.log, line: j.line}
	cmd := exec.CommandContext(ctx, j.argv[0], j.argv[1:]...)
	cmd.Env = j.environ
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 2 * time.Second
	inGroup(cmd)
	_, _ = fmt.Fprintf(j.log, "$ %s\n", strings.Join(j.argv, " "))
	err := cmd.Run()
	text := out.end()
	if ctx.Err() != nil {
		return text, ctx.Err()
	}
	if err != nil {
		return text, &failure{j.argv, err, text}
	}
	return text, nil
}

// tail hands lines on as they come, and keeps the last of them.
type tail struct {
	mu   sync.Mutex
	log  io.Writer
	line func(string)
	part []byte // of a line that has not ended
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.log.Write(p); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.log = io.Discard // a full disk must not hide the installer's own words
	}
	t.last = keepLast(append(t.last, p...), tailBytes)
	if t.line == nil {
		return len(p), nil
	}
	t.part = append(t.part, p...)
	for {
		advance, line, _ := bufio.ScanLines(t.part, false)
		if advance == 0 {
			t.part = keepLast(t.part, tailBytes)
			return len(p), nil
		}
		t.line(string(line))
		t.part = t.part[advance:]
	}
}

func (t *tail) end() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line != nil && len(t.part) > 0 {
		t.line(string(t.part))
		t.part = nil
	}
	return string(t.last)
}

func keepLast(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	return append([]byte(nil), b[len(b)-n:]...)
}

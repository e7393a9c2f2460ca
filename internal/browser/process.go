package browser

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// process is a program that was started in a group of its own.
type process struct {
	cmd    *exec.Cmd
	tree   *group
	output *words
	done   chan struct{} // closed when it has ended and was waited for
	err    error         // how it ended, after done
}

// launch starts a command whose output goes to output.
func launch(cmd *exec.Cmd, output *words) (*process, error) {
	p := &process{cmd: cmd, tree: &group{}, output: output, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second // a stray that holds its output must not hold us
	p.tree.prepare(cmd)
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the command and waits for it on one thread: Linux ties the signal
// that ends a child with its parent to the parent's thread.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- p.tree.adopt(p.cmd.Process) // which kills what it cannot adopt
	p.err = p.cmd.Wait()
	close(p.done)
}

// end kills all of it, waits for it, and says how it ended.
func (p *process) end() string {
	select {
	case <-p.done: // by itself: what it left behind goes too
		p.tree.kill()
	default:
		p.tree.kill()
		<-p.done
	}
	return ending(p.err, p.output)
}

// ending puts the end of a process into words.
func ending(err error, output *words) string {
	how := "it ended by itself"
	if err != nil {
		how = err.Error()
	}
	if last := output.last(); last != "" {
		how = fmt.Sprintf("%s; its last output: %s", how, last)
	}
	return how
}

// wordsKept is how much of a browser's output is kept.
const wordsKept = 8 << 10

// words keeps the end of what a program prints, and shows each line as it comes.
type words struct {
	mu   sync.Mutex
	line func(string) // may be nil
	kept []byte
	part []byte // of a line that has not ended
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = keepEnd(append(w.kept, p...))
	if w.line == nil {
		return len(p), nil
	}
	w.part = append(w.part, p...)
	for {
		line, rest, whole := bytes.Cut(w.part, []byte("\n"))
		if !whole {
			w.part = keepEnd(w.part)
			return len(p), nil
		}
		w.part = rest
		w.line(strings.TrimSpace(string(line)))
	}
}

func keepEnd(b []byte) []byte {
	if len(b) <= wordsKept {
		return b
	}
	return bytes.Clone(b[len(b)-wordsKept:])
}

// last returns the last line that is fatal by its own word, else the last one:
// what the others of a family print when one dies comes after it.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := ""
	for line := range strings.Lines(string(w.kept)) {
		line = strings.TrimSpace(line)
		if line != "" && (strings.Contains(line, "FATAL") || !strings.Contains(last, "FATAL")) {
			last = line
		}
	}
	return last
}

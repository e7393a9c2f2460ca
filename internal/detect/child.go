package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Limits on what a child may print.
const (
	answerLimit = 1 << 20
	errorLimit  = 4 << 10
)

// PythonChild asks probes of the assay_runner package, which lies in the
// folder library, with the given Python.
func PythonChild(python, library string) Child {
	return func(ctx context.Context, probe string) ([]byte, error) {
		return runChild(ctx, exec.CommandContext(ctx, python, "-m", "assay_runner", "probe", probe), library)
	}
}

// runChild runs a command in a process group of its own, which is killed whole
// when the time is up. The child holds the other end of a pipe as its standard
// input, so it notices when this process is killed.
func runChild(ctx context.Context, cmd *exec.Cmd, library string) ([]byte, error) {
	out, errs := &bounded{limit: answerLimit}, &bounded{limit: errorLimit, tail: true}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.Env = append(os.Environ(), "PYTHONPATH="+joinPath(library, os.Getenv("PYTHONPATH")), "PYTHONDONTWRITEBYTECODE=1", "ASSAY_WATCH_STDIN=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe for the probe: %w", err)
	}
	defer stdin.Close()
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	killGroup(cmd) //nolint:errcheck // what the child left running goes with it; usually there is nothing
	if err != nil && ctx.Err() == nil {
		return nil, childError(err, errs.kept.String())
	}
	if out.cut {
		return nil, fmt.Errorf("the probe printed more than %d bytes", answerLimit)
	}
	return out.kept.Bytes(), ctx.Err()
}

func childError(err error, printed string) error {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	last := lines[len(lines)-1]
	var exit *exec.ExitError
	if errors.As(err, &exit) && last != "" {
		return fmt.Errorf("the probe ended with %w: %s", err, last)
	}
	return fmt.Errorf("the probe did not run: %w", err)
}

func joinPath(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + string(filepath.ListSeparator) + rest
}

// bounded keeps the first or the last bytes written to it, and takes all, so
// that a child that floods its output does not block.
type bounded struct {
	kept  bytes.Buffer // not embedded: its ReadFrom would go around Write
	limit int
	tail  bool
	cut   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if b.tail {
		b.kept.Write(p)
		if over := b.kept.Len() - b.limit; over > 0 {
			b.kept.Next(over)
			b.cut = true
		}
		return n, nil
	}
	if room := b.limit - b.kept.Len(); n > room {
		p, b.cut = p[:room], true
	}
	b.kept.Write(p)
	return n, nil
}

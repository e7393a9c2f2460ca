package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Limits on what a child may print.
const (
	answerLimit = 1 << 20
	errorLimit  = 4 << 10
)

// PythonChild asks probes of the assay_runner package in children of a Python
// environment, which start starts: they get what every child of Assay gets.
func PythonChild(start func(ctx context.Context, args ...string) *exec.Cmd) Child {
	return func(ctx context.Context, probe string) ([]byte, error) {
		return runChild(ctx, start(ctx, "-m", "assay_runner", "probe", probe))
	}
}

// runChild runs a command in its own process group, which is killed whole
// when the time is up. The child holds the other end of a pipe as its standard
// input, so it notices when this process is killed.
func runChild(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	out, errs := &bounded{limit: answerLimit}, &bounded{limit: errorLimit, tail: true}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.Env = append(cmd.Environ(), "ASSAY_WATCH_STDIN=1")
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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/cell"
)

// process is a program to be run to its end and timed.
type process struct {
	path  string
	args  []string
	env   []string // all of it
	stdin io.Reader
}

// run returns what the program printed and how long it took from start to
// end. It is asked to stop when ctx ends, and killed when it does not.
func (p process) run(ctx context.Context) (stdout []byte, wall time.Duration, err error) {
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.env, p.stdin, &out, &complaints
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	err = cmd.Run()
	wall = time.Since(began)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(complaints.String()), "\n")
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(p.path), strings.Join(p.args, " "), err, lines[len(lines)-1])
	}
	return out.Bytes(), wall, err
}

// program is Assay itself with these arguments, in the user's own environment,
// installing nothing.
func (b *bench) program(args ...string) process {
	return process{path: b.assay, args: args, env: os.Environ()}
}

// cells is Assay carrying cells out: with the chosen Python and a database of
// its own, so that the user's journals stay as they are.
func (b *bench) cells(args ...string) process {
	global := []string{"--no-setup", "--json", "--db", filepath.Join(b.tmp, "assay.duckdb")}
	if b.python != "" {
		global = append(global, "--python", b.env.Python)
	}
	return b.program(append(global, args...)...)
}

// report runs Assay carrying cells out and reads its answer.
func (b *bench) report(ctx context.Context, args ...string) (cell.Report, time.Duration, error) {
	out, wall, err := b.cells(args...).run(ctx)
	if err != nil {
		return cell.Report{}, wall, err
	}
	var r cell.Report
	if err := json.Unmarshal(out, &r); err != nil {
		return r, wall, fmt.Errorf("what %s printed is not a report: %w", strings.Join(args, " "), err)
	}
	if len(r.Results) == 0 {
		return r, wall, fmt.Errorf("%s gave no results", strings.Join(args, " "))
	}
	return r, wall, nil
}

// timedSeconds is how long a report's timed iterations took in all.
func timedSeconds(r cell.Report) float64 {
	var ms float64
	for _, res := range r.Results {
		if res.Latency == nil {
			continue
		}
		for _, repeat := range res.Latency.SamplesMS {
			for _, v := range repeat {
				ms += v
			}
		}
	}
	return ms / 1000
}

func (b *bench) version(ctx context.Context) (string, error) {
	out, _, err := b.program("version", "--json").run(ctx)
	if err != nil {
		return "", err
	}
	var v struct{ Version string }
	err = json.Unmarshal(out, &v)
	return v.Version, err
}

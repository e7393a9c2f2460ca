package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // for the bare loop
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"assay/internal/measure"
)

//go:embed bare.py
var bareLoop string

// The ratio of Assay's median to the bare loop's must lie between these, with 1
// in its interval.
const (
	bareLo = 0.95
	bareHi = 1.05
)

// bare sets Assay's timed loop beside the same loop without Assay. Each
// alternation is one repeat by the zygote and one fresh interpreter that runs
// bare.py, in random order.
func (b *bench) bare(ctx context.Context) (findings, error) {
	r, err := b.repeater(ctx)
	if err != nil {
		return findings{}, err
	}
	p, err := b.pairs(ctx, r, b.times(32, 2), func() (*bareProcess, error) { return b.startBare(ctx, r) })
	if err := errors.Join(err, r.close()); err != nil {
		return findings{}, err
	}
	return findings{rows: p[0].rows()}, nil
}

// pairs are the repeats of both sides, by alternation.
type pairs struct{ bare, ours []repeat }

// pairs makes alternations; what it returns is by batch. next is a bare loop that waits to begin.
func (b *bench) pairs(ctx context.Context, r *repeater, n int, next func() (*bareProcess, error)) ([]pairs, error) {
	sides := []func() ([]repeat, error){
		func() ([]repeat, error) {
			loop, err := next()
			if err != nil {
				return nil, err
			}
			return loop.run(len(r.job.Points))
		},
		func() ([]repeat, error) { return r.each(ctx) },
	}
	out := make([]pairs, len(r.job.Points))
	for i := range n {
		var pair [2][]repeat
		for _, side := range b.order.Perm(2) {
			var err error
			if pair[side], err = sides[side](); err != nil {
				return out, err
			}
		}
		for k := range out {
			bare, ours := pair[0][k], pair[1][k]
			if err := alike(bare, ours); err != nil {
				return out, err
			}
			out[k].bare, out[k].ours = append(out[k].bare, bare), append(out[k].ours, ours)
			b.say(fmt.Sprintf("   %d of %d, batch %d: bare %.3f ms, assay %.3f ms", i+1, n, r.job.Points[k].Batch, measure.Median(bare.SamplesMS), measure.Median(ours.SamplesMS)))
		}
	}
	return out, nil
}

// bareProcess is a fresh interpreter with the bare loop. It makes its model and waits.
type bareProcess struct {
	cmd        *exec.Cmd
	stdin      io.WriteCloser
	stdout     *bufio.Reader
	complaints *bytes.Buffer
	waits      bool // it said that its model is there
}

// startBare starts a bare loop of the same subject, in the user's own
// environment and not the one that Assay makes for its runner.
func (b *bench) startBare(ctx context.Context, r *repeater) (*bareProcess, error) {
	told, err := r.told()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, b.env.Python, "-c", bareLoop) //nolint:gosec // the Python that was asked for
	p := &bareProcess{cmd: cmd, complaints: &bytes.Buffer{}}
	cmd.Stderr, cmd.WaitDelay = p.complaints, 10*time.Second
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(stdout)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := p.stdin.Write(append(told, '\n')); err != nil {
		return nil, p.failed(err)
	}
	return p, nil
}

// awaited waits until the model is there.
func (p *bareProcess) awaited() error {
	if p.waits {
		return nil
	}
	line, err := p.stdout.ReadString('\n')
	if err == nil && line != "ready\n" {
		err = fmt.Errorf("it said %q", line)
	}
	if err != nil {
		return p.failed(err)
	}
	p.waits = true
	return nil
}

// run lets the loop begin and reads what it saw of this many batches.
func (p *bareProcess) run(batches int) ([]repeat, error) {
	if err := p.awaited(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		return nil, p.failed(err)
	}
	var out []repeat
	if err := json.NewDecoder(p.stdout).Decode(&out); err != nil {
		return nil, p.failed(err)
	}
	if err := p.cmd.Wait(); err != nil {
		return nil, p.failed(err)
	}
	if len(out) != batches {
		return nil, fmt.Errorf("the bare loop told of %d batches, not %d", len(out), batches)
	}
	for _, r := range out {
		if len(r.SamplesMS) == 0 {
			return nil, errors.New("the bare loop gave no samples")
		}
	}
	return out, nil
}

// failed ends the process and says why, in its own last words where it has any.
func (p *bareProcess) failed(why error) error {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	lines := strings.Split(strings.TrimSpace(p.complaints.String()), "\n")
	return fmt.Errorf("the bare loop: %w: %s", why, lines[len(lines)-1])
}

// alike reports what would make the comparison unfair.
func alike(bare, ours repeat) error {
	if bare.Threads != ours.Threads || bare.Attention != ours.Attention {
		return fmt.Errorf("the sides differ: bare has %d threads and attention %s, assay %d and %s", bare.Threads, bare.Attention, ours.Threads, ours.Attention)
	}
	return nil
}

func (p pairs) rows() []Row {
	wall := measure.Compare(samples(p.bare), samples(p.ours))
	cpu := measure.Compare(single(cpuTimes(p.bare)), single(cpuTimes(p.ours)))
	n := len(p.bare)
	const enough = 30
	first := Row{
		Name: "Assay's loop over the bare loop", Bar: fmt.Sprintf("%g to %g, 1 in the interval", bareLo, bareHi),
		Measured: fmt.Sprintf("tiny %s, batch %d, threads %d: medians of %d alternations", subjectType, subjectBatch, p.ours[0].Threads, n),
		Value:    fmt.Sprintf("%s (%.3f ms over %.3f ms)", ratio(wall), wall.MedianB, wall.MedianA),
		Data:     numbers(wall), Raw: map[string][]float64{"bare_median_ms": measure.Medians(samples(p.bare)), "assay_median_ms": measure.Medians(samples(p.ours))},
		Note: "same configuration, input shapes, attention, dtype, threads, warm-up and stop rule; the bare side's weights are torch's own initialisation",
	}
	second := Row{
		Name: "the same by process CPU time", Bar: fmt.Sprintf("%g to %g", bareLo, bareHi), Measured: "per iteration, the second witness",
		Value: fmt.Sprintf("%s (%.3f ms over %.3f ms)", ratio(cpu), cpu.MedianB, cpu.MedianA),
		Data:  numbers(cpu), Raw: map[string][]float64{"bare_cpu_ms": cpuTimes(p.bare), "assay_cpu_ms": cpuTimes(p.ours)},
	}
	return []Row{first.judge(within(wall) && holdsOne(wall), n >= enough), second.judge(within(cpu), n >= enough)}
}

func within(c measure.Comparison) bool { return c.Ratio >= bareLo && c.Ratio <= bareHi }

func holdsOne(c measure.Comparison) bool {
	return c.Lo != nil && c.Hi != nil && *c.Lo <= 1 && *c.Hi >= 1
}

func numbers(c measure.Comparison) map[string]float64 {
	out := map[string]float64{"ratio": c.Ratio, "bare_ms": c.MedianA, "assay_ms": c.MedianB}
	for name, v := range map[string]*float64{"ratio_lo": c.Lo, "ratio_hi": c.Hi, "p": c.P} {
		if v != nil {
			out[name] = *v
		}
	}
	return out
}

func samples(repeats []repeat) [][]float64 {
	out := make([][]float64, len(repeats))
	for i, r := range repeats {
		out[i] = r.SamplesMS
	}
	return out
}

func cpuTimes(repeats []repeat) []float64 {
	out := make([]float64, len(repeats))
	for i, r := range repeats {
		out[i] = r.CPUMSPerIter
	}
	return out
}

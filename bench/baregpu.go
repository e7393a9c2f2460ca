package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/measure"
	"assay/internal/platform"
)

// The ratio on a GPU must be nearer to 1 than on a CPU, since there is more of it.
const (
	gpuBareLo = 0.97
	gpuBareHi = 1.03
)

// enoughOnGPU is how many alternations a ratio is judged by: fewer give no interval.
const enoughOnGPU = 6

// gpuSubjects are bound by launches at batch 1, and by the device's own work at batch 8 in fp32.
func gpuSubjects() []subject {
	var out []subject
	for _, checkpoint := range []struct{ kind, name string }{{"bert", "google-bert/bert-base-uncased"}, {"llama", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"}} {
		for _, dtype := range []platform.DType{platform.FP16, platform.FP32} {
			out = append(out, subject{cell.Cell{Type: checkpoint.kind, Checkpoint: checkpoint.name, Size: cell.Full, Platform: platform.CUDA, DType: dtype}, []int{1, 8}})
		}
	}
	return out
}

// bareGPU does on a GPU what bare does on the CPU, for models of true size. All bare loops
// make their models before the first turn, so that nothing but the two sides runs
// meanwhile; those that wait compute nothing. Where it is interrupted, the subjects that
// were finished are told.
func (b *bench) bareGPU(ctx context.Context) (out findings, err error) {
	release, err := lab.Hush(os.TempDir())(ctx, true, b.say)
	if err != nil {
		return out, err
	}
	of := gpuSubjects()
	zygote, err := b.repeaterWith(ctx, of[0], release)
	if err != nil {
		return out, err
	}
	waiting, err := b.allWaiting(ctx, zygote, of)
	defer func() {
		for _, s := range waiting {
			s.end()
		}
		err = errors.Join(err, zygote.close())
	}()
	if err != nil {
		return out, err
	}
	if _, err := zygote.each(ctx); err != nil { // the first one on this machine loads libraries from the disk; not counted
		return out, err
	}
	grid := Grid{Title: "Assay's loop over a bare loop on a GPU", Head: []string{"model", "dtype", "batch", "bare ms", "assay ms", "ratio", "range of bare", "range of assay"}}
	for i, s := range waiting {
		all, err := b.pairs(ctx, s.ours, len(s.bare), s.next)
		if err != nil {
			return out, err
		}
		for k, p := range all {
			row, line := p.onGPU(of[i].cell, of[i].batches[k])
			out.rows, grid.Rows = append(out.rows, row), append(grid.Rows, line)
		}
		out.grids = []Grid{grid}
	}
	return out, nil
}

// sides are a subject's repeater, and its bare loops that have not begun.
type sides struct {
	ours *repeater
	bare []*bareProcess
}

func (s *sides) next() (*bareProcess, error) {
	p := s.bare[0]
	s.bare = s.bare[1:]
	return p, nil
}

// end ends those that never got their turn.
func (s *sides) end() {
	for _, p := range s.bare {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// allWaiting starts the bare loops of all subjects and waits until each has its model.
func (b *bench) allWaiting(ctx context.Context, zygote *repeater, of []subject) ([]*sides, error) {
	var out []*sides
	for _, subject := range of {
		job, err := b.job(subject)
		if err != nil {
			return out, err
		}
		s := &sides{ours: zygote.turnedTo(job)}
		out = append(out, s)
		for range b.turns() {
			p, err := b.startBare(ctx, s.ours)
			if err != nil {
				return out, err
			}
			s.bare = append(s.bare, p)
		}
	}
	for _, s := range out {
		for _, p := range s.bare {
			if err := p.awaited(); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// turns is how many alternations a subject gets.
func (b *bench) turns() int {
	if b.alternations > 0 {
		return b.alternations
	}
	return b.times(10, 2)
}

// onGPU is a row and a line of the table.
func (p pairs) onGPU(is cell.Cell, batch int) (Row, []string) {
	wall := measure.Compare(samples(p.bare), samples(p.ours))
	row := Row{
		Name: fmt.Sprintf("Assay's loop over the bare loop: %s %s, batch %d", is.Checkpoint, is.DType, batch), Bar: fmt.Sprintf("%g to %g, 1 in the interval", gpuBareLo, gpuBareHi),
		Measured: fmt.Sprintf("on %s: medians of %d alternations", is.Platform, len(p.bare)),
		Value:    fmt.Sprintf("%s (%.3f ms over %.3f ms)", ratio(wall), wall.MedianB, wall.MedianA), Data: numbers(wall),
		Raw: map[string][]float64{"bare_median_ms": measure.Medians(samples(p.bare)), "assay_median_ms": measure.Medians(samples(p.ours))},
	}
	met := wall.Ratio >= gpuBareLo && wall.Ratio <= gpuBareHi && holdsOne(wall)
	line := []string{is.Checkpoint, string(is.DType), fmt.Sprint(batch), fmt.Sprintf("%.3f", wall.MedianA), fmt.Sprintf("%.3f", wall.MedianB), ratio(wall), between(p.bare), between(p.ours)}
	return row.judge(met, len(p.bare) >= enoughOnGPU), line
}

// between is the least and the most of the repeats' medians.
func between(repeats []repeat) string {
	medians := measure.Medians(samples(repeats))
	return fmt.Sprintf("%.3f to %.3f", slices.Min(medians), slices.Max(medians))
}

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

// bareGPU does on a GPU what bare does on the CPU, for models of true size. Bare loops make
// their models before the first turn, all of a subject at once, so that nothing but the two
// sides runs meanwhile.
func (b *bench) bareGPU(ctx context.Context) (findings, error) {
	var out findings
	grid := Grid{Title: "Assay's loop over a bare loop on a GPU", Head: []string{"model", "dtype", "batch", "bare ms", "assay ms", "ratio", "range of bare", "range of assay"}}
	for _, of := range gpuSubjects() {
		all, err := b.alternate(ctx, of)
		if err != nil {
			return out, err
		}
		for i, p := range all {
			row, line := p.onGPU(of.cell, of.batches[i])
			out.rows, grid.Rows = append(out.rows, row), append(grid.Rows, line)
		}
	}
	out.grids = []Grid{grid}
	return out, nil
}

func (b *bench) alternate(ctx context.Context, of subject) (_ []pairs, err error) {
	release, err := lab.Hush(os.TempDir())(ctx, true, b.say)
	if err != nil {
		return nil, err
	}
	r, err := b.repeaterWith(ctx, of, release)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	n := b.times(10, 2)
	var waiting []*bareProcess
	defer func() {
		for _, p := range waiting {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	}()
	for range n {
		p, err := b.startBare(ctx, r)
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, p)
	}
	for _, p := range waiting {
		if err := p.awaited(); err != nil {
			return nil, err
		}
	}
	if _, err := r.each(ctx); err != nil { // the zygote imports; not counted
		return nil, err
	}
	return b.pairs(ctx, r, n, func() (*bareProcess, error) {
		p := waiting[0]
		waiting = waiting[1:]
		return p, nil
	})
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

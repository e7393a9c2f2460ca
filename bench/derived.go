package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/platform"
	"assay/internal/runner"
	"assay/internal/runner/python"

	"golang.org/x/sync/errgroup"
)

// derived holds what is derived from torch's tables, and from the lists of
// operators of engines that run graphs, against what was measured, where both can
// be compared: every type at size tiny on this CPU, and what the journals of --truth hold.
func (b *bench) derived(ctx context.Context) (findings, error) {
	truth, err := b.truth(ctx)
	if err != nil {
		return findings{}, err
	}
	cases, err := b.derive(ctx, truth)
	if err != nil {
		return findings{}, err
	}
	var f findings
	grid := Grid{Title: "Derived against measured: cells whose support was predicted wrongly", Head: []string{"cell", "derived", "measured", "as the run or the table puts it"}}
	for _, s := range scored(cases) {
		f.rows = append(f.rows, s.row())
		grid.Rows = append(grid.Rows, s.wrong...)
	}
	if len(grid.Rows) > 0 {
		f.grids = []Grid{grid}
	}
	return f, nil
}

// truth are measured results of tiny models: those of the journals, or else of a
// sweep of torch that is made now.
func (b *bench) truth(ctx context.Context) ([]cell.Result, error) {
	var all []cell.Result
	for _, path := range strings.FieldsFunc(b.options.truth, func(r rune) bool { return r == ',' }) {
		_, results, err := readJournal(path)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	if len(all) > 0 {
		return all, nil
	}
	selector := []string{"--all"}
	if b.quick {
		selector = []string{"bert", "deberta", "fnet", "t5"}
	}
	r, _, err := b.failing(ctx, append([]string{"test", "--platform", "cpu", "--size", "tiny", "--dtype", "fp32,fp16,bf16"}, selector...)...)
	return r.Results, err
}

// trial is a measured result beside what is derived of its cell.
type trial struct {
	measured cell.Result
	derived  lab.Derived
}

// support reports whether a measured failure is one of support: an operator or
// a dtype that the device does not take, or a graph that could not be written.
// Wrong numbers do not count, and tables cannot foresee them; what has no recipe or no
// package never came so far.
func (t trial) support() bool {
	classes := []cell.FailureClass{cell.UnsupportedOperator, cell.UnsupportedDType, cell.ModelError, cell.Export}
	return t.measured.Failure != nil && slices.Contains(classes, t.measured.Failure.Class)
}

// derivedAs is whose list of operators decides a cell: the engine's own where it
// has one, else the platform's in torch.
func derivedAs(c cell.Cell) string {
	if c.Engine == platform.ONNXRuntime || c.Engine == platform.EngOpenVINO {
		return string(c.Engine)
	}
	return string(c.Platform)
}

// derive asks a runner, two questions at a time, for every result that ran.
func (b *bench) derive(ctx context.Context, results []cell.Result) ([]trial, error) {
	r, err := python.Runner{Python: b.env.Python, Env: b.env.Environ(ctx)}.StartRestarting(ctx)
	if err != nil {
		return nil, err
	}
	trials := make([]*trial, len(results))
	var g errgroup.Group
	g.SetLimit(2)
	for i, result := range results {
		if i%100 == 0 {
			b.say(fmt.Sprintf("   %d of %d", i, len(results)))
		}
		g.Go(func() error {
			trials[i] = b.ask(ctx, r, result)
			return nil
		})
	}
	_ = g.Wait() // ask gives no error
	var out []trial
	for _, t := range trials {
		if t != nil {
			out = append(out, *t)
		}
	}
	return out, errors.Join(context.Cause(ctx), r.Close())
}

// ask derives one measured cell; nil for what did not run, or has no recipe of
// the catalogue.
func (b *bench) ask(ctx context.Context, r runner.Runner, measured cell.Result) *trial {
	c := measured.Cell
	if measured.Evidence != cell.Measured || measured.Actual == nil || c.Size != cell.Tiny || ctx.Err() != nil {
		return nil
	}
	recipe, err := b.catalog.Recipe(c.Type, c.Task, c.Size, "")
	if err != nil {
		return nil
	}
	t, name := &trial{measured: measured}, derivedAs(c)
	job := runner.Job{
		Kind: runner.DeriveJob, Cell: c, Recipe: recipe, Threads: 1, Points: []runner.Point{{Batch: c.Batch, Seq: c.Seq, Image: c.Image}},
		Options: map[string]any{"platforms": []string{name}, "tables": filepath.Join(b.tmp, "tables")},
	}
	_, err = r.Run(ctx, job, func(e runner.Event) {
		var d lab.Derivation
		if data, ok := e.(runner.Data); ok && json.Unmarshal(data.Data, &d) == nil {
			t.derived = d.Targets[name]
		}
	})
	if err != nil {
		b.say(fmt.Sprintf("   %s: %v", c.Type, err))
	}
	return t
}

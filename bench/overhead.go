package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/measure"
	"assay/internal/progress"
	"assay/internal/session"
)

// The bars of a CPU cell's cost beyond the model's own work, on two cores.
const (
	overheadMedianMS = 150
	overheadP95MS    = 500
)

// overhead checks the key models and the representatives one after the other,
// with one worker, in this process, as the program does. A cell's cost is the
// time from the commit of the line before it to the commit of its own, which
// holds all there is between two cells, less the phases timed in its child.
// Imports are not the model's work: they stay in.
func (b *bench) overhead(ctx context.Context) (findings, error) {
	cells, err := b.tinyCells()
	if err != nil {
		return findings{}, err
	}
	watch := &commits{say: b.say}
	for round := range b.rounds(len(cells)) {
		if err := b.round(ctx, cells, round, watch); err != nil {
			return findings{}, err
		}
	}
	if len(watch.costs) == 0 {
		return findings{}, fmt.Errorf("no cell worked: %s", watch.trouble())
	}
	return findings{rows: watch.rows()}, nil
}

// tinyCells are the key models and the families' representatives on the CPU.
func (b *bench) tinyCells() ([]cell.Cell, error) {
	choices, err := b.catalog.Select(catalog.Selector{Key: true, Representatives: true})
	if err != nil {
		return nil, err
	}
	if b.quick {
		choices = choices[:min(4, len(choices))]
	}
	var out []cell.Cell
	for _, c := range choices {
		out = append(out, cell.Cell{Type: c.Entry.Type, Family: c.Entry.Family, Size: cell.Tiny})
	}
	return out, nil
}

// rounds are as many as a 95th percentile needs.
func (b *bench) rounds(cells int) int {
	enough := measure.EnoughFor(0.95)
	return b.times((enough+cells-1)/cells, 1)
}

// round runs the cells by a runner of its own, so that no model profits
// from what an earlier round imported.
func (b *bench) round(ctx context.Context, cells []cell.Cell, seed int, on progress.Listener) error {
	s := b.session()
	_, err := s.Versions(ctx) // starts the runner, whose own imports belong to no cell
	if err == nil {
		err = b.record(ctx, s, cells, seed, on)
	}
	return errors.Join(err, s.Close())
}

// record runs the cells with this seed and journals them.
func (b *bench) record(ctx context.Context, s *session.Session, cells []cell.Cell, seed int, on progress.Listener) error {
	plan := cell.Plan{Cells: slices.Clone(cells)}
	for i := range plan.Cells {
		plan.Cells[i].Seed = seed
	}
	plan, err := plan.Normal()
	if err != nil {
		return err
	}
	j, err := journal.Create(filepath.Join(b.tmp, "journals"), s.Header(plan, "bench"))
	if err != nil {
		return err
	}
	_, err = s.Record(ctx, plan, j, on)
	return err
}

// commits is the listener that takes the time whenever a line is committed: it
// hears of a result as soon as the line is on the disk.
type commits struct {
	say    func(string)
	last   time.Time
	costs  []float64 // ms, of cells that worked
	stored []float64 // ms, what the results themselves say: dispatch to exit, without the journal
	lazy   []float64 // ms, imports in the child
	failed []string
}

// Hear takes the time.
func (c *commits) Hear(e progress.Event) error {
	switch e.Kind {
	case progress.KindPlanned:
		c.last = time.Now()
	case progress.KindFinished:
		c.count(*e.Result)
	case progress.KindNote:
		c.say("   " + e.Text)
	}
	return nil
}

// trouble names what was not counted, each model once.
func (c *commits) trouble() string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(c.failed))), ", ")
}

// since is the time since the last commit; now is the next one.
func (c *commits) since() (ms float64) {
	now := time.Now()
	ms = float64(now.Sub(c.last)) / float64(time.Millisecond)
	c.last = now
	return ms
}

func (c *commits) count(r cell.Result) {
	ms := c.since()
	if r.OverheadMS == nil || r.Verdict == cell.Fails || r.Attempts != 1 {
		c.failed = append(c.failed, fmt.Sprintf("%s %s", r.Cell.Type, r.Verdict))
		return
	}
	c.costs = append(c.costs, ms-ownMS(r.PhasesMS))
	c.stored = append(c.stored, *r.OverheadMS)
	c.lazy = append(c.lazy, r.PhasesMS["import"])
}

// ownMS is the model's own work in a check: all phases timed in the child but
// the imports. The reference and the negative control are forward passes of
// the model.
func ownMS(phases map[string]float64) float64 {
	var sum float64
	for name, ms := range phases {
		if name != "import" {
			sum += ms
		}
	}
	return sum
}

func (c *commits) rows() []Row {
	s := measure.Summarise([][]float64{c.costs})
	measured := fmt.Sprintf("%d tiny cells, one worker: commit to commit, less the phases timed in the child", s.N)
	raw := map[string][]float64{"cost_ms": c.costs, "stored_overhead_ms": c.stored, "import_ms": c.lazy}
	median := Row{
		Name: "cost of a CPU cell, median", Measured: measured, Value: fmt.Sprintf("%.0f ms", s.Median),
		Bar: fmt.Sprintf("≤ %d ms", overheadMedianMS), Raw: raw,
		Data: map[string]float64{"median_ms": s.Median, "import_median_ms": measure.Median(c.lazy), "stored_median_ms": measure.Median(c.stored)},
		Note: fmt.Sprintf("%.0f ms of it are imports in the child; overhead_ms in the results (without the journal) says %.0f ms", measure.Median(c.lazy), measure.Median(c.stored)),
	}
	if len(c.failed) > 0 {
		median.Note = joined(median.Note, "not counted: "+c.trouble())
	}
	tail := Row{Name: "cost of a CPU cell, p95", Measured: "the same cells", Bar: fmt.Sprintf("≤ %d ms", overheadP95MS), Value: fmt.Sprintf("at most %.0f ms", s.Max)}
	if s.P95 != nil {
		tail.Value, tail.Data = fmt.Sprintf("%.0f ms (most %.0f)", *s.P95, s.Max), map[string]float64{"p95_ms": *s.P95, "max_ms": s.Max}
	}
	return []Row{
		median.judge(s.Median <= overheadMedianMS, true),
		tail.judge(s.P95 != nil && *s.P95 <= overheadP95MS, s.P95 != nil),
	}
}

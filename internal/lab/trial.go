package lab

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assay/internal/cell"
	"assay/internal/measure"
	"assay/internal/progress"
)

// Trial is a cell that was checked and whose repeats are run when the caller says
// so: what interleaves the repeats of two cells, of two environments even. A repeat
// is the same as in a plan: a fresh child, alone on the host.
type Trial struct {
	c      *carrying
	series *series // nil where the check found nothing that could be timed
	found  cell.Result
	begun  []beginning // of each repeat that gave samples, and of the last that was tried
}

// beginning is when a repeat began, and what else the machine did then.
type beginning struct {
	at   time.Time
	busy string
}

// Try checks the one cell of a timed plan. Nothing is run elsewhere in its place, and
// nothing is lowered: a caller who compares wants what was asked for.
func (l *Lab) Try(ctx context.Context, plan cell.Plan, on progress.Listener) (*Trial, error) {
	if len(plan.Cells) != 1 || !plan.Timed() {
		return nil, errors.New("a trial is of one timed cell")
	}
	plan.NoFallback, plan.NoAdapt = true, true
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &carrying{Lab: l, plan: plan, on: progress.OneAtATime(on), stop: cancel}
	if c.admission = l.Admission; c.admission == nil {
		c.admission = NewAdmission(l.Workers)
	}
	c.hostBytes = c.admission.learn(l.Machine.FreeBytes, c.deviceMemory())
	routes := c.routes()
	if !routes[0].runs {
		return &Trial{c: c, found: c.unavailable(routes[0])}, nil
	}
	release, err := c.hush(ctx, false)
	if err != nil {
		return nil, err
	}
	defer release()
	done, err := c.check(ctx, groups(routes)[0])
	if err != nil {
		return nil, err
	}
	t := &Trial{c: c, found: *done[0].result}
	if over := c.over(done[0]); !over {
		t.series = c.toTime(done)[0]
		c.pace(t.series)
	}
	return t, nil
}

// Open reports whether repeats can be run: the check worked and no repeat failed.
func (t *Trial) Open() bool { return t.series != nil && !t.series.points[0].over }

// Repeats is how many repeats the plan's timing asks for.
func (t *Trial) Repeats() int {
	if t.series == nil {
		return 0
	}
	return t.series.repeats
}

// Done is how many repeats have given samples.
func (t *Trial) Done() int {
	if t.series == nil {
		return 0
	}
	return len(t.series.points[0].runs)
}

// Repeat runs one more. A repeat that fails ends the trial, which Result tells.
func (t *Trial) Repeat(ctx context.Context) error {
	if !t.Open() {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.c.stop = cancel
	release, err := t.c.hush(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	hot, used, err := t.c.cool(ctx)
	if err != nil {
		return err
	}
	busy, err := t.c.quiet(ctx)
	if err != nil {
		return err
	}
	t.begun = append(t.begun[:t.Done()], beginning{time.Now().UTC(), joinNotes(joinNotes(busy, used), hot)})
	return t.c.repeat(ctx, t.series)
}

// Samples are those of the repeats from one on, a list for each.
func (t *Trial) Samples(from int) [][]float64 {
	var out [][]float64
	if t.series == nil {
		return nil
	}
	for _, run := range t.series.points[0].runs[from:] {
		out = append(out, run.SamplesMS)
	}
	return out
}

// Medians are those of the same repeats, each as a list of one.
func (t *Trial) Medians(from int) [][]float64 {
	var out [][]float64
	for _, m := range measure.Medians(t.Samples(from)) {
		out = append(out, []float64{m})
	}
	return out
}

// Result is what the repeats from one on say together, or the check alone where none
// were run. side tells it from the other one of a comparison.
func (t *Trial) Result(from int, side string) cell.Result {
	r := t.found
	if t.series != nil {
		p := t.series.points[0]
		r = *p.result
		r.Note = joinNotes(r.Note, t.series.note)
		fill(&r, p.runs[from:])
		r.Context.Pinned = t.c.plan.Pin
		if from > 0 && from < len(t.begun) {
			r.StartedAt = t.begun[from].at // those before are another result of the same cell
		}
		busy := ""
		for _, b := range t.begun[min(from, len(t.begun)):] {
			busy = cmp.Or(b.busy, busy)
		}
		markBusy(r.Latency, busy)
	}
	r.Side = side
	return r
}

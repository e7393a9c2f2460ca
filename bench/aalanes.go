package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/measure"
	"assay/internal/versus"
)

// lane is where one comparison is made at a time.
type lane struct {
	number int
	cpus   []int // that its repeats are held to; nil where the system holds nobody
}

// lanesOf shares the processors that may be used out: as many lanes as were asked for, or as there is
// room for, each as wide as a repeat has threads.
func lanesOf(asked, threads int, may []int) ([]lane, error) {
	if len(may) == 0 { // nothing can be held to a processor here
		out := make([]lane, max(asked, 1))
		for i := range out {
			out[i].number = i
		}
		return out, nil
	}
	room := len(may) / threads
	switch {
	case room == 0:
		return nil, fmt.Errorf("a repeat of %d threads needs as many processors, and this program may run on %d: lower -threads", threads, len(may))
	case asked > room:
		return nil, fmt.Errorf("%d lanes, each of %s, need %d processors, and this program may run on %d: lower -lanes or -threads", asked, threadsText(threads), asked*threads, len(may))
	case asked == 0:
		asked = room
	}
	out := make([]lane, asked)
	for i := range out {
		out[i] = lane{i, may[i*threads : (i+1)*threads]}
	}
	return out, nil
}

// mostFailures is how many comparisons of a lane may fail in a row: a busy machine may be
// short of memory once.
const mostFailures = 3

// contest is what the lanes of a run share.
type contest struct {
	b      *bench
	o      aaOptions
	state  *aaTallies
	sides  map[against]*repeater // {} is the plain one
	wanted map[against]int
	lanes  int
	began  time.Time
	before int // comparisons that the file held
}

// compareAll makes the comparisons that are not in the file yet, all kinds alike far.
func (b *bench) compareAll(ctx context.Context, o aaOptions, lanes []lane, state *aaTallies) (err error) {
	c := &contest{b: b, o: o, state: state, wanted: map[against]int{{}: o.comparisons}, lanes: len(lanes), before: state.count()}
	for _, p := range plants {
		c.wanted[p] = o.tries
	}
	left := state.left(c.wanted)
	if len(left) == 0 {
		return nil
	}
	if err := c.open(ctx, left); err != nil {
		return errors.Join(err, c.close())
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.began = time.Now()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for _, l := range lanes {
		all.Go(func() {
			if err := c.run(ctx, l); err != nil {
				stop(err) // the first is what is told
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// open starts the zygotes of the sides that are still needed.
func (c *contest) open(ctx context.Context, left map[against]int) error {
	release := func() {}
	if !c.o.noisy {
		var err error
		if release, err = lab.Hush(os.TempDir())(ctx, true, c.b.say); err != nil {
			return err
		}
	}
	plain, err := c.b.repeaterWith(ctx, usualSubject(), release)
	if err != nil {
		return err
	}
	rule := *plain.job.Timing
	rule.MinS = c.o.least
	plain.job.Timing, plain.job.Threads = &rule, c.o.threads
	c.sides = map[against]*repeater{{}: plain}
	for _, p := range plants {
		if left[p] == 0 {
			continue
		}
		if c.sides[p], err = c.b.planted(ctx, plain, p); err != nil {
			delete(c.sides, p)
			return err
		}
	}
	return nil
}

func (c *contest) close() (err error) {
	for _, r := range c.sides {
		err = errors.Join(err, r.close())
	}
	return err
}

// run makes comparisons in a lane until none is left.
func (c *contest) run(ctx context.Context, l lane) error {
	order := rand.New(rand.NewPCG(c.o.seed, uint64(c.before)<<8|uint64(l.number))) //nolint:gosec // an order, not a secret
	for failures := 0; ; {
		kind, ok := c.state.take(c.wanted)
		if !ok {
			return nil
		}
		t, err := c.once(ctx, l, kind, order)
		if cause := context.Cause(ctx); cause != nil {
			c.state.drop(kind)
			return cause
		}
		if err != nil {
			c.state.drop(kind)
			if failures++; failures == mostFailures {
				return fmt.Errorf("%d comparisons in a row failed: %w", failures, err)
			}
			c.b.say(fmt.Sprintf("   %s: could not be compared, and is tried again: %v", kind, err))
			continue
		}
		failures = 0
		made, left, err := c.state.add(t, c.wanted)
		if err != nil {
			return err
		}
		c.b.say(fmt.Sprintf("   %s: %s, ratio %.3f, repeats vary by %.1f %%; %s", t.against, t.Verdict, t.Ratio, 100*t.Varies, pace(made-c.before, left, time.Since(c.began))))
	}
}

// once is one comparison, in both stages, as `bench --ab` makes it.
func (c *contest) once(ctx context.Context, l lane, kind against, order *rand.Rand) (aaTally, error) {
	var trials [2]*aaTrial
	arm := func(side int, r *repeater) versus.Arm {
		return func(_ context.Context, is cell.Cell) (versus.Trial, error) {
			trials[side] = &aaTrial{of: r.held(l.cpus), cell: is}
			return trials[side], nil
		}
	}
	plain := c.sides[against{}]
	is := plain.job.Cell
	r, err := versus.Run(ctx, arm(0, plain), arm(1, c.sides[kind]), []versus.Pair{{A: is, B: is}},
		versus.Options{Order: order, Record: func(cell.Result) error { return nil }, Note: func(string) {}, Now: time.Now().UTC()})
	if err != nil {
		return aaTally{}, err
	}
	if len(r.Speed) != 1 {
		return aaTally{}, fmt.Errorf("one pair gave %d comparisons", len(r.Speed))
	}
	s := r.Speed[0]
	t := aaTally{against: kind, ID: rand.Uint64(), At: time.Now().UTC().Truncate(time.Second), Verdict: s.Verdict, Ratio: s.Ratio, Finds: s.Finds, //nolint:gosec // no secret
		Repeats: trials[0].Done(), Lanes: c.lanes, Load: load()}
	if cv := measure.Summarise(trials[0].Medians(0)).CVBetween; cv != nil {
		t.Varies = *cv
	}
	return t, nil
}

// held is the same repeater, its children held to processors.
func (r *repeater) held(cpus []int) *repeater {
	out := *r
	out.job.Pin = cpus
	return &out
}

// pace is how fast comparisons are made, and how long the rest will take at that.
func pace(made, left int, took time.Duration) string {
	perHour := float64(made) / took.Hours()
	return fmt.Sprintf("%.0f an hour, %d left: %s", perHour, left, time.Duration(float64(left)/perHour*float64(time.Hour)).Round(time.Minute))
}

// aaTrial is a trial whose repeats are the bench's own.
type aaTrial struct {
	of      *repeater
	cell    cell.Cell
	medians [][]float64
}

// The methods of versus.Trial.
func (t *aaTrial) Open() bool   { return true }
func (t *aaTrial) Repeats() int { return measure.MinRepeats }
func (t *aaTrial) Done() int    { return len(t.medians) }

func (t *aaTrial) Repeat(ctx context.Context) error {
	one, err := t.of.once(ctx)
	if err == nil {
		t.medians = append(t.medians, []float64{measure.Median(one.SamplesMS)})
	}
	return err
}

func (t *aaTrial) Medians(from int) [][]float64 { return t.medians[from:] }

func (t *aaTrial) Result(from int, side string) cell.Result {
	return cell.Result{Cell: t.cell, Side: side, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick,
		Latency: &cell.Latency{SamplesMS: t.medians[from:], Repeats: len(t.medians) - from, Stable: true}}
}

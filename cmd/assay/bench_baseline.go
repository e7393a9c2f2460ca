package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/detect"
	"assay/internal/journal"
	"assay/internal/session"
	"assay/internal/versus"
)

// benchBaseline is bench --baseline: the new side is run, and candidates again.
func (a *app) benchBaseline(ctx context.Context, f *carryFlags, v *versusFlags, args []string, timing cell.Timing) error {
	find, err := a.finder()
	if err != nil {
		return err
	}
	old, err := find.Find(ctx, v.baseline)
	if err != nil {
		return err
	}
	if err := a.sameMachine(old, v); err != nil {
		return err
	}
	if f.none(args) && f.planFile == "" {
		return a.benchCells(ctx, f, v, old)
	}
	s, plan, err := a.prepare(ctx, f, args, timing)
	if err != nil {
		return err
	}
	defer s.Close()
	return a.benchAgainst(ctx, s, plan, v, f, old)
}

// sameMachine refuses, before anything runs, what could not be compared after it.
func (a *app) sameMachine(old compare.Side, v *versusFlags) error {
	machine := a.machine
	if machine == nil {
		machine = detect.Live()
	}
	here := detect.JudgeFirst(detect.Look(machine)).Host
	if slices.Contains(v.across, "host") || slices.ContainsFunc(old.Entries, func(e compare.Entry) bool { return e.Host.MachineKey() == here.MachineKey() }) {
		return nil
	}
	return &statusError{exitNothing, fmt.Errorf("nothing could be compared: %s is of another machine (%s), and this is %s; --across host compares all the same",
		v.baseline, compare.MachineName(old.Entries[0].Host), compare.MachineName(here))}
}

// benchCells runs the timed cells of the old side itself.
func (a *app) benchCells(ctx context.Context, f *carryFlags, v *versusFlags, old compare.Side) error {
	plan := cell.Plan{Repeats: f.Repeats, TimeoutS: f.timeout.Seconds(), Strict: f.Strict}
	for _, e := range old.Newest() {
		if e.Result.Latency == nil || e.Result.Timing == cell.Functional {
			continue
		}
		plan.Cells = append(plan.Cells, e.Result.Cell)
		if e.Result.Timing.Thoroughness() > plan.Timing.Thoroughness() {
			plan.Timing = e.Result.Timing
		}
	}
	if len(plan.Cells) == 0 {
		return &statusError{exitNothing, fmt.Errorf("nothing could be compared: %s holds no timed cells; name models to run", v.baseline)}
	}
	plan, err := plan.Normal()
	if err != nil {
		return err
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return err
	}
	s, err := a.openSession(f.session(), cat)
	if err != nil {
		return err
	}
	defer s.Close()
	return a.benchAgainst(ctx, s, plan, v, f, old)
}

// benchAgainst runs a plan and compares it with stored results.
func (a *app) benchAgainst(ctx context.Context, s *session.Session, plan cell.Plan, v *versusFlags, f *carryFlags, old compare.Side) error {
	options := compare.Options{Across: v.across, Now: time.Now().UTC(), Stored: true}
	plan.NoFallback = true
	rep, err := a.carryShowing(ctx, s, plan, "bench")
	if err != nil {
		return err
	}
	now := compare.Side{Name: "now", Kind: "run"}
	for i := range rep.Results {
		now.Entries = append(now.Entries, compare.Entry{Result: &rep.Results[i], Run: rep.Run.ID, Host: rep.Host})
	}
	wanted := compare.Side{Name: old.Name, Kind: old.Kind}
	for _, e := range old.Entries {
		if slices.ContainsFunc(rep.Results, func(r cell.Result) bool { return r.Cell.Key() == e.Result.Cell.Key() }) {
			wanted.Entries = append(wanted.Entries, e)
		}
	}
	r := compare.Compare(wanted, now, options)
	if err := a.confirm(ctx, s, plan, v, f, &r, wanted, options); err != nil {
		return err
	}
	return a.printCompared(r, &v.compareFlags)
}

// confirm runs the candidates again: on both sides where the old one's Python is at
// hand, else on the new side against what is stored.
func (a *app) confirm(ctx context.Context, s *session.Session, plan cell.Plan, v *versusFlags, f *carryFlags, r *compare.Report, old compare.Side, o compare.Options) error {
	candidates := r.Candidates()
	if len(candidates) == 0 {
		r.Confirm(nil, o)
		return nil
	}
	plan.Cells = candidates
	now, on := arm{"now", s, plan}, a.notes()
	again := func(record func(cell.Result) error) ([]compare.Fresh, error) {
		return versus.Again(ctx, now.try(on), candidates, storedMedians(old), versus.Options{Note: a.say, Record: record})
	}
	if v.oldPython != "" {
		before, err := a.sessionOf(ctx, v.oldPython, f)
		if err != nil {
			return err
		}
		defer before.Close()
		o.Stored = false
		again = func(record func(cell.Result) error) ([]compare.Fresh, error) {
			return versus.Both(ctx, arm{"old", before, plan}.try(on), now.try(on), candidates, versus.Options{Note: a.say, Record: record})
		}
	}
	return a.journaled(ctx, s, plan, func(_ journal.Header, record func(cell.Result) error) error {
		fresh, err := again(record)
		if err == nil {
			r.Confirm(fresh, o)
		}
		return err
	})
}

// sessionOf is one with another Python.
func (a *app) sessionOf(ctx context.Context, python string, f *carryFlags) (*session.Session, error) {
	other := *a
	other.python, other.used = python, nil
	cat, err := other.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return other.openSession(f.session(), cat)
}

// storedMedians are the repeats that a side holds of a cell.
func storedMedians(side compare.Side) func(cell.Cell) [][]float64 {
	byKey := map[cell.Key]compare.Entry{}
	for _, e := range side.Newest() {
		byKey[e.Result.Cell.Key()] = e
	}
	return func(c cell.Cell) [][]float64 {
		if e, ok := byKey[c.Key()]; ok && e.Result.Latency != nil {
			return e.Result.Latency.SamplesMS
		}
		return nil
	}
}

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
	if err := f.check(); err != nil {
		return err
	}
	own := f.none(args) && f.planFile == ""
	for _, name := range settings {
		if own && f.flags.Changed(name) {
			return usage("without models the cells of %s are run as they are: --%s needs a model", v.baseline, name)
		}
	}
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
	if own {
		return a.benchCells(ctx, f, v, old, timing)
	}
	s, plan, err := a.prepare(ctx, f, args, timing)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := sameTiming(old, plan, v); err != nil {
		return err
	}
	return a.benchAgainst(ctx, s, plan, v, f, old)
}

// sameTiming refuses a plan of which no cell was timed before as it would be now: none
// could be compared.
func sameTiming(old compare.Side, plan cell.Plan, v *versusFlags) error {
	o := compare.Options{Across: v.across}
	wanted, other := map[cell.Key]bool{}, cell.Timing("")
	for _, c := range plan.Cells {
		wanted[o.Key(c)] = true
	}
	for _, e := range old.Entries {
		if e.Result.Latency == nil || e.Result.Timing == cell.Functional || !wanted[o.Key(e.Result.Cell)] {
			continue
		}
		if e.Result.Timing == plan.Timing || slices.Contains(v.across, "timing") {
			return nil
		}
		other = e.Result.Timing
	}
	if other == "" {
		return nil // there are verdicts or nothing, which the comparison says
	}
	return otherTiming(v.baseline, other, plan.Timing)
}

// otherTiming says that a side was timed otherwise, and what to do.
func otherTiming(side string, was, is cell.Timing) error {
	hint := "leave --quick out"
	if was == cell.Quick {
		hint = "add --quick"
	}
	return &statusError{exitNothing, fmt.Errorf("nothing could be compared: the times of %s are %s, and these would be %s; %s, or compare all the same with --across timing", side, was, is, hint)}
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

// benchCells runs the timed cells of the old side itself: those with --quick's times where
// that is asked for, else those with the most thorough ones.
func (a *app) benchCells(ctx context.Context, f *carryFlags, v *versusFlags, old compare.Side, timing cell.Timing) error {
	of := map[cell.Timing][]cell.Cell{}
	most := cell.Functional
	for _, e := range old.Newest() {
		if t := e.Result.Timing; e.Result.Latency != nil && t != cell.Functional {
			of[t] = append(of[t], e.Result.Cell)
			if t.Thoroughness() > most.Thoroughness() {
				most = t
			}
		}
	}
	switch {
	case most == cell.Functional:
		return &statusError{exitNothing, fmt.Errorf("nothing could be compared: %s holds no timed cells; name models to run", v.baseline)}
	case timing == cell.Quick && len(of[timing]) == 0:
		return otherTiming(v.baseline, most, timing)
	case timing == cell.Quick:
		most = timing
	}
	if left := len(of[cell.Quick]) + len(of[cell.Thorough]) - len(of[most]); left > 0 {
		a.say(fmt.Sprintf("the cells of %s with %s times are run; %s timed otherwise", v.baseline, most, counted(left, "cell was", "cells were")))
	}
	plan, err := cell.Plan{
		Cells: of[most], Timing: most, Repeats: f.Repeats, TimeoutS: f.timeout.Seconds(), Strict: f.Strict, NoAdapt: f.NoAdapt,
		WaitQuietS: f.WaitQuietS, MaxTempC: f.MaxTempC, Pin: f.Pin,
	}.Normal()
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
	made := map[cell.Key]bool{}
	for _, r := range rep.Results {
		made[options.Key(r.Cell)] = true
	}
	wanted := compare.Side{Name: old.Name, Kind: old.Kind, Notes: old.Notes}
	for _, e := range old.Entries {
		if made[options.Key(e.Result.Cell)] {
			wanted.Entries = append(wanted.Entries, e)
		}
	}
	r := compare.Compare(wanted, now, options)
	if err := a.confirm(ctx, s, plan, v, f, &r, options); err != nil {
		return err
	}
	if err := a.printCompared(r, &v.compareFlags); err != nil {
		return err
	}
	return status(uncompared(rep.Results, wanted, options), f.Strict || plan.Strict)
}

// uncompared are the results of cells of which the old side holds nothing, or under which
// the machine broke: what happened to them is not in the comparison.
func uncompared(results []cell.Result, old compare.Side, o compare.Options) []cell.Result {
	held := map[cell.Key]bool{}
	for _, e := range old.Entries {
		held[o.Key(e.Result.Cell)] = true
	}
	return slices.DeleteFunc(slices.Clone(results), func(r cell.Result) bool { return held[o.Key(r.Cell)] && !r.Broke() })
}

// confirm runs the candidates again: on both sides where the old one's Python is at
// hand, else on the new side against what is stored.
func (a *app) confirm(ctx context.Context, s *session.Session, plan cell.Plan, v *versusFlags, f *carryFlags, r *compare.Report, o compare.Options) error {
	candidates := r.Candidates()
	if len(candidates) == 0 {
		r.Confirm(nil, o)
		return nil
	}
	plan.Cells = nil
	for _, c := range candidates {
		plan.Cells = append(plan.Cells, c.B)
	}
	now, on := arm{"now", s, plan}, a.notes()
	again := func(record func(cell.Result) error) ([]compare.Fresh, error) {
		return versus.Again(ctx, now.try(on), candidates, versus.Options{Note: a.say, Record: record})
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

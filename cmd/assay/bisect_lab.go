package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/bisect"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/environment"
	"assay/internal/session"
	"assay/internal/versus"
)

// releaseLab tries releases in environments of their own: the way from bisect's
// question to a cell that runs.
type releaseLab struct {
	app     *app
	flags   *carryFlags
	base    *environment.Maker
	catalog *catalog.Catalog
	pkg     string
	plan    cell.Plan
	by      string
	good    string           // the release that others are compared with
	old     *session.Session // with it, once it was needed for times
	before  *cell.Result     // of it, once it was needed for answers
}

func (l *releaseLab) close() {
	if l.old != nil {
		_ = l.old.Close() // nothing is lost: results are in the journal
	}
}

// environment makes the environment of a release, if it is not there.
func (l *releaseLab) environment(ctx context.Context, release string) (*environment.Maker, environment.Environment, error) {
	m, err := l.base.With(ctx, environment.Release{Package: l.pkg, Version: release})
	if err != nil {
		return nil, environment.Environment{}, err
	}
	env, err := m.Open(ctx, environment.Choice{})
	return m, env, err
}

// ofRelease are the kinds of errors that say something about a release, and not about
// this machine or its network.
var ofRelease = []environment.Kind{environment.Unsupported, environment.Mismatch, environment.OldPackage, environment.Failed}

// Try implements bisect.Lab.
func (l *releaseLab) Try(ctx context.Context, release string) (bisect.Answer, error) {
	begun := time.Now()
	l.app.say(fmt.Sprintf("trying %s %s", l.pkg, release))
	a, err := l.try(ctx, release)
	for _, k := range ofRelease {
		if environment.IsKind(err, k) {
			a, err = bisect.Answer{State: bisect.Untestable, Why: err.Error(), Fleeting: k != environment.Unsupported}, nil
		}
	}
	a.Seconds = time.Since(begun).Seconds()
	return a, err
}

func (l *releaseLab) try(ctx context.Context, release string) (bisect.Answer, error) {
	s, err := l.session(ctx, release)
	if err != nil {
		return bisect.Answer{}, err
	}
	defer s.Close()
	switch l.by {
	case bySpeed:
		return l.timed(ctx, s, release)
	case byAnswers:
		return l.answered(ctx, s)
	}
	r, err := l.run(ctx, s)
	if err != nil {
		return bisect.Answer{}, err
	}
	return judged(r, l.plan.Strict), nil
}

// run carries the cell out.
func (l *releaseLab) run(ctx context.Context, s *session.Session) (cell.Result, error) {
	rep, err := l.app.carryShowing(ctx, s, l.plan, "bisect")
	if err == nil && len(rep.Results) != 1 {
		err = fmt.Errorf("one cell gave %d results", len(rep.Results))
	}
	if err != nil {
		return cell.Result{}, err
	}
	return rep.Results[0], nil
}

// answered compares the fingerprint of a release with that of the good one.
func (l *releaseLab) answered(ctx context.Context, s *session.Session) (bisect.Answer, error) {
	if l.before == nil {
		good, err := l.session(ctx, l.good)
		if err != nil {
			return bisect.Answer{}, l.notGood(err)
		}
		defer good.Close()
		r, err := l.run(ctx, good)
		if err != nil {
			return bisect.Answer{}, err
		}
		if r.Fingerprint == nil {
			return bisect.Answer{}, usage("there are no answers of %s %s to compare with: %s; fingerprints are of tiny models on the CPU in fp32", l.pkg, l.good, judged(r, false).Why)
		}
		l.before = &r
	}
	r, err := l.run(ctx, s)
	if err != nil {
		return bisect.Answer{}, err
	}
	return agreeing(l.good, *l.before, r), nil
}

// notGood says that the good release itself cannot be had: no answer about another.
func (l *releaseLab) notGood(err error) error {
	return fmt.Errorf("the good release %s cannot be compared with: %s", l.good, err) //nolint:errorlint // its kind would be taken for one of the release under trial
}

// agreeing is the answer that two fingerprints are.
func agreeing(good string, before, now cell.Result) bisect.Answer {
	if now.Fingerprint == nil {
		a := judged(now, false)
		if a.State == bisect.Good {
			a.State, a.Why = bisect.Untestable, "no fingerprint could be taken"
		}
		return a
	}
	kept := cell.KeptFingerprint{Subject: before.SubjectHash, Fingerprint: *before.Fingerprint}
	switch c := kept.Since(good, now.SubjectHash, now.Fingerprint); {
	case c == nil:
		return bisect.Answer{State: bisect.Good, Why: "the same answers"}
	case c.NotComparable != "":
		return bisect.Answer{State: bisect.Untestable, Why: c.NotComparable}
	case c.By == nil:
		return bisect.Answer{State: bisect.Bad, Why: "its outputs are others"}
	default:
		return bisect.Answer{State: bisect.Bad, Why: fmt.Sprintf("other answers: %s is off by %.2g (%s)", c.Output, *c.By, c.Sample)}
	}
}

// session runs cells with a release.
func (l *releaseLab) session(ctx context.Context, release string) (*session.Session, error) {
	m, _, err := l.environment(ctx, release)
	if err != nil {
		return nil, err
	}
	with := *l.app
	with.made, with.used = m, nil
	return with.openSession(l.flags.session(), l.catalog)
}

// judged is the answer that a verdict is.
func judged(r cell.Result, strict bool) bisect.Answer {
	a := bisect.Answer{State: bisect.Untestable, Why: string(r.Shown())}
	if r.Failure != nil {
		a.Why = fmt.Sprintf("%s (%s): %s", a.Why, r.Failure.Class, r.Failure.Detail)
	} else if r.Verdict == cell.Partial && r.Note != "" {
		a.Why += ": " + r.Note
	}
	switch {
	case r.Broke():
		a.Fleeting = r.Failure.Class == cell.Environment // a full disk has room tomorrow
	case r.Verdict == cell.Fails, r.Verdict == cell.Partial && strict:
		a.State = bisect.Bad
	case r.Verdict == cell.Works, r.Verdict == cell.Partial:
		a.State = bisect.Good
	}
	return a
}

// timed is the answer that times against the good release are.
func (l *releaseLab) timed(ctx context.Context, s *session.Session, release string) (bisect.Answer, error) {
	if l.old == nil {
		old, err := l.session(ctx, l.good)
		if err != nil {
			return bisect.Answer{}, l.notGood(err)
		}
		l.old = old
	}
	name := func(v string) string { return l.pkg + " " + v }
	arms := [2]arm{{name(l.good), l.old, l.plan}, {name(release), s, l.plan}}
	pairs := []versus.Pair{{A: l.plan.Cells[0], B: l.plan.Cells[0]}}
	r, results, err := l.app.runPairs(ctx, arms, pairs, allFields())
	if err != nil {
		return bisect.Answer{}, err
	}
	if len(r.Speed) == 1 {
		return paced(r.Speed[0]), nil
	}
	for i, res := range results {
		if a := judged(res, false); a.State != bisect.Good {
			a.State, a.Why = bisect.Untestable, fmt.Sprintf("%s is not timed: %s", arms[i%2].name, a.Why)
			return a, nil
		}
	}
	return bisect.Answer{}, errors.New("the two releases were timed and could not be compared")
}

// paced is the answer that a comparison of speed is.
func paced(s compare.Speed) bisect.Answer {
	a := bisect.Answer{State: bisect.Good, Why: fmt.Sprintf("%s, %.3f × the good release's time", s.Verdict, s.Ratio)}
	switch s.Verdict {
	case compare.Slower:
		a.State = bisect.Bad
	case compare.Untold, compare.Candidate:
		a.State = bisect.Untestable
	}
	if s.Finds != nil {
		a.Why += fmt.Sprintf(" (would notice %.0f %%)", 100**s.Finds)
	}
	return a
}

package tune

import (
	"context"
	"errors"
	"slices"

	"assay/internal/platform"
)

// Question is one about a model on a target, with its graphs at hand.
type Question struct {
	What    string // WarmStart or ParallelLoad
	Model   string
	Target  platform.Target
	Graphs  []Graph
	Refused string // why there are none
}

func (q Question) ask(ctx context.Context, b *Bench) Row {
	switch {
	case q.Refused != "":
		return Row{What: q.What, Subject: q.Model, Target: q.Target.String(), Refused: q.Refused, Notes: []string{}, Warnings: []string{}}
	case q.What == WarmStart:
		return b.WarmStart(ctx, q.Target, q.Graphs[0])
	}
	return b.ParallelLoad(ctx, q.Target, q.Model, q.Graphs)
}

// AskAll asks everything on every target. A book is where chosen sizes of kernels
// go; nil asks nothing about kernels. What was answered is returned also when it
// was stopped.
func (b *Bench) AskAll(ctx context.Context, targets []platform.Target, questions []Question, book *Book) (Report, error) {
	report := NewReport()
	for _, t := range targets {
		setting, err := b.Setting(ctx, t)
		if err != nil {
			return report, err
		}
		report.Settings[t.String()] = setting
		rows, err := b.askOn(ctx, t, setting, questions, book)
		for _, r := range rows {
			r.Evidence = setting.Evidence
			report.Rows = append(report.Rows, r)
		}
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (b *Bench) askOn(ctx context.Context, t platform.Target, s Setting, questions []Question, book *Book) ([]Row, error) {
	var rows []Row
	for _, q := range questions {
		if q.Target == t {
			b.Say(q.What + " of " + q.Model + " on " + t.String())
			rows = append(rows, q.ask(ctx, b))
		}
	}
	if book == nil || !hasKernels(t) {
		return rows, ctx.Err()
	}
	found, err := b.Kernels(ctx, t, s, *book)
	return append(rows, found...), err
}

// Refused reports whether some question has no answer.
func (r Report) Refused() bool {
	return slices.ContainsFunc(r.Rows, func(r Row) bool { return r.Refused != "" })
}

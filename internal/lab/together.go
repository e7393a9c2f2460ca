package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/measure"
	"assay/internal/runner"

	"golang.org/x/sync/errgroup"
)

// companions are the series that have their turn with s: s alone, or in scenario
// concurrent all that name the same company and are not over.
func companions(s *series, all []*series) []*series {
	s.turn = true
	out := []*series{s}
	head := s.points[0].now
	if head.Company == "" || s.points[0].over {
		return out
	}
	for _, o := range all {
		now := o.points[0].now
		if o == s || o.turn || o.done >= o.repeats || o.points[0].over || now.Company != head.Company || now.Target != head.Target {
			continue
		}
		o.turn = true
		out = append(out, o)
	}
	return out
}

// repeatTogether carries one repeat of the series out: of one alone as it is; of
// a company each member alone first, and then all at the same time.
func (c *carrying) repeatTogether(ctx context.Context, members []*series) error {
	if members[0].points[0].now.Company == "" {
		return c.repeat(ctx, members[0])
	}
	if why := missing(members); why != "" {
		for _, s := range members {
			left(s.points[0], why)
		}
		return nil
	}
	alone := make([]float64, len(members))
	for i, s := range members {
		p := s.points[0]
		if p.over {
			return nil
		}
		out, err := c.timeOnce(ctx, []*point{p}, s.rule)
		if err != nil {
			return err
		}
		if out.failure != nil {
			c.broke([]*point{p}, out)
			return nil
		}
		alone[i] = measure.Median(out.points[0].SamplesMS)
	}
	outs, err := c.atOnce(ctx, members)
	if err != nil {
		return err
	}
	for i, s := range members {
		p := s.points[0]
		if f := outs[i].failure; f != nil {
			c.broke([]*point{p}, outs[i])
			continue
		}
		run := outs[i].points[0]
		run.phases = phases(outs[i].phases, run.phases)
		p.runs, p.alone = append(p.runs, run), append(p.alone, alone[i])
	}
	return nil
}

// missing says which models of a company are not there to be timed, if any:
// beside fewer than it names nothing is measured.
func missing(members []*series) string {
	models := map[string]bool{}
	for _, m := range strings.Split(members[0].points[0].now.Company, ", ") {
		models[m] = true
	}
	for _, s := range members {
		delete(models, s.points[0].now.Model())
	}
	if len(models) == 0 {
		return ""
	}
	return "of the models that were to run at the same time this one does not: " + strings.Join(slices.Sorted(maps.Keys(models)), ", ")
}

// left ends a point whose company is not whole, with the repeats that it has.
func left(p *point, why string) {
	if p.over {
		return
	}
	p.over = true
	if len(p.runs) > 0 {
		p.result.Note = joinNotes(p.result.Note, fmt.Sprintf("%s only: %s", plural(len(p.runs), "repeat"), why))
		return
	}
	f := failure.Of(cell.Environment, why)
	p.result.Verdict, p.result.Evidence, p.result.Failure = cell.Unknown, cell.None, &f
}

// atOnce runs the members' jobs at the same time: they meet in a folder before
// the first sample. One that has no other member left runs beside itself.
func (c *carrying) atOnce(ctx context.Context, members []*series) ([]outcome, error) {
	folder, err := os.MkdirTemp("", "assay-company-")
	if err != nil {
		return nil, fmt.Errorf("make a folder in which models meet: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	jobs := make([]runner.Job, max(2, len(members)))
	var n need
	for i := range jobs {
		s := members[i%len(members)]
		p := s.points[0]
		jobs[i] = c.job(runner.TimeJob, []*attempt{p.attempt}, s.rule)
		options := maps.Clone(jobs[i].Options)
		if options == nil {
			options = map[string]any{}
		}
		options["company"] = map[string]any{"folder": folder, "members": len(jobs), "index": i, "wait_s": companyWaitS}
		jobs[i].Options = options
		one := estimate(p.now, p.recipe.Parameters, false, p.here.Software)
		n.silicon, n.hostBytes, n.deviceBytes = one.silicon, n.hostBytes+one.hostBytes, n.deviceBytes+one.deviceBytes
	}
	n.alone = true
	release, err := c.admit(ctx, n)
	if err != nil {
		return nil, err
	}
	defer release()
	outs := make([]outcome, len(jobs))
	work, ctx := errgroup.WithContext(ctx)
	for i, job := range jobs {
		work.Go(func() error {
			out, err := c.execute(ctx, job)
			if outs[i] = out; err != nil || out.failure != nil {
				// Those that wait for it need not.
				_ = os.WriteFile(filepath.Join(folder, "lost"), nil, 0o600)
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	return blamed(outs, len(members)), nil
}

// companyWaitS is how long a warm model waits for those that still load.
const companyWaitS = 120

// blamed are the members' own outcomes. Where one was lost because of another,
// and that one is only a copy of itself, the copy's failure is its own.
func blamed(outs []outcome, members int) []outcome {
	for i, extra := range outs[members:] {
		if own := &outs[i%members]; extra.failure != nil && own.failure == nil {
			*own = extra
		}
	}
	return outs[:members]
}

// interference is how much slower a point was in company than alone, repeat by
// repeat; nil where it had none.
func (p *point) interference() *cell.Interference {
	if len(p.alone) == 0 || len(p.alone) != len(p.runs) {
		return nil
	}
	ratios, singles := make([][]float64, len(p.alone)), make([][]float64, len(p.alone))
	for i, ms := range p.alone {
		ratios[i] = []float64{measure.Median(p.runs[i].SamplesMS) / ms}
		singles[i] = []float64{ms}
	}
	s := measure.Summarise(ratios)
	return &cell.Interference{Beside: cell.Others(p.now), AloneMS: measure.Summarise(singles).Median, Ratio: s.Median, Lo: s.Lo, Hi: s.Hi}
}

package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/measure"
	"assay/internal/runner"
)

// block is how many groups are interleaved. Interleaving spreads a machine's
// slow minutes over all of them; a block's results are final when its last
// repeat ends, so a stopped plan keeps the blocks before it.
const block = 8

// ahead is how many groups are checked before the first of them is timed: the
// checks on a GPU share contexts, which are gone when a timed repeat begins.
const ahead = 4 * block

// longest is how long the repeats of one group may take in all, loading
// included. A model that takes longer has fewer samples a repeat (pace.go).
var longest = map[cell.Timing]time.Duration{cell.Quick: 2 * time.Minute, cell.Thorough: 6 * time.Minute}

// TimingRule is a timing's stop rule as the runner has it, and its number of
// repeats. Warm-up ends when the last windows agree within a tenth, or at its cap.
func TimingRule(t cell.Timing) (*runner.TimingRule, int) {
	r := measure.Rules()[string(t)]
	return &runner.TimingRule{MinS: r.MinS, MinN: r.MinN, MaxS: r.MaxS, WarmupMaxS: r.MaxS / 4, WarmupWindow: 5, WarmupTolerance: 0.1}, r.Repeats
}

// timeAll runs a timed plan, block by block.
func (c *carrying) timeAll(ctx context.Context, routes []route) error {
	c.announce(routes)
	for gs := range slices.Chunk(groups(routes), ahead) {
		all, err := c.checkBlock(ctx, gs)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(all, block) {
			if err := c.timeBlock(ctx, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// series is what one loaded model serves while it is timed.
type series struct {
	points  []*point
	repeats int // planned
	done    int
	note    string
	rule    *runner.TimingRule
	takes   time.Duration // one repeat, by what the check took
	busy    string        // what others asked of the processor meanwhile, in words
	turn    bool          // it had its turn in this round, beside another
}

// point is an attempt being timed: what each repeat saw of it.
type point struct {
	*attempt
	runs   []pointRun
	alone  []float64 // of scenario concurrent: the medians of the repeats without company, in ms
	broken int       // times that the machine broke under it
	over   bool
}

// checkBlock checks the groups in parallel. What does not work is final; the
// rest is returned to be timed.
func (c *carrying) checkBlock(ctx context.Context, gs []group) ([]*series, error) {
	release, err := c.hush(ctx, false)
	if err != nil {
		return nil, err
	}
	defer release()
	checked := make(chan []*attempt, len(gs))
	err = c.each(ctx, gs, func(ctx context.Context, g group) error {
		done, err := c.check(ctx, g)
		checked <- c.working(done)
		return err
	})
	close(checked)
	if err != nil {
		return nil, err
	}
	var out []*series
	for done := range checked {
		out = append(out, c.toTime(done)...)
	}
	for _, s := range out {
		c.pace(s)
	}
	return out, nil
}

// working finishes what fails or is not available, and returns the rest.
func (c *carrying) working(done []*attempt) []*attempt {
	return slices.DeleteFunc(done, func(a *attempt) bool {
		over := c.over(a)
		if over {
			c.finish(*a.result)
		}
		return over
	})
}

// over reports whether the check found nothing that could be timed.
func (c *carrying) over(a *attempt) bool {
	return slices.Contains([]cell.Verdict{cell.Fails, cell.Unavailable, cell.Unknown}, a.result.Verdict)
}

// toTime gathers attempts of equal dtype and target into series.
func (c *carrying) toTime(done []*attempt) []*series {
	_, repeats := TimingRule(c.plan.Timing)
	if c.plan.Repeats > 0 {
		repeats = c.plan.Repeats
	}
	var out []*series
	for _, a := range done {
		i := slices.IndexFunc(out, func(s *series) bool {
			return a.now.Company == "" && s.points[0].now.Key(cell.AnyBatch, cell.AnyInput) == a.now.Key(cell.AnyBatch, cell.AnyInput)
		})
		if i < 0 {
			i, out = len(out), append(out, &series{repeats: repeats})
		}
		out[i].points = append(out[i].points, &point{attempt: a})
	}
	return out
}

// timeBlock times the series alone on the host, their repeats interleaved.
func (c *carrying) timeBlock(ctx context.Context, all []*series) error {
	if len(all) == 0 {
		return nil
	}
	release, err := c.hush(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	c.sayPlanned(all)
	warned := false
	for open := true; open; {
		open = false
		for _, s := range all {
			s.turn = false
		}
		hot, used, err := c.cool(ctx)
		if err != nil {
			return err
		}
		busy, err := c.quiet(ctx)
		if err != nil {
			return err
		}
		busy = joinNotes(joinNotes(busy, used), hot)
		if busy != "" {
			if !warned {
				c.note("warning: " + busy + "; times taken now are marked as unstable")
			}
			warned = true
			for _, s := range all {
				if s.done < s.repeats {
					s.busy = busy
				}
			}
		}
		for _, s := range all {
			if s.done >= s.repeats || s.turn {
				continue
			}
			together := companions(s, all)
			if err := c.repeatTogether(ctx, together); err != nil {
				return err
			}
			for _, s := range together {
				if s.done++; s.done < s.repeats {
					open = true
					continue
				}
				c.conclude(s)
			}
		}
	}
	return nil
}

// repeat carries one fresh child out over the series' points, and one more
// after each point that fails, for those behind it.
func (c *carrying) repeat(ctx context.Context, s *series) error {
	todo := slices.DeleteFunc(slices.Clone(s.points), func(p *point) bool { return p.over })
	for len(todo) > 0 {
		out, err := c.timeOnce(ctx, todo, s.rule)
		if err != nil {
			return err
		}
		for i, p := range todo {
			p.noteOnce(out.again)
			p.noteOnce(p.restricted(out.level))
			if run, ok := out.points[i]; ok {
				run.phases = phases(out.phases, run.phases)
				p.runs = append(p.runs, run)
			}
		}
		if out.failure == nil {
			return nil
		}
		todo = c.broke(todo, out)
	}
	return nil
}

// noteOnce adds what a repeat has to say and no other has said.
func (p *point) noteOnce(note string) {
	if !strings.Contains(p.result.Note, note) {
		p.result.Note = joinNotes(p.result.Note, note)
	}
}

// timeOnce runs one child over the points, alone on the host.
func (c *carrying) timeOnce(ctx context.Context, todo []*point, rule *runner.TimingRule) (outcome, error) {
	n := estimate(todo[0].now, todo[0].recipe.Parameters, false, todo[0].here.Software)
	n.alone = true
	release, err := c.admit(ctx, n)
	if err != nil {
		return outcome{}, err
	}
	defer release()
	attempts := make([]*attempt, len(todo))
	for i, p := range todo {
		attempts[i] = p.attempt
	}
	return c.execute(ctx, c.job(runner.TimeJob, attempts, rule))
}

// broke deals with the point at which a repeat failed and returns what is
// still to be done in this round. A point that the model failed is over; one
// under which the machine broke is tried once more, and then left with the
// repeats that it has: that is never the model's failure.
func (c *carrying) broke(todo []*point, out outcome) []*point {
	if out.whole {
		for _, p := range todo {
			c.end(p, out.failure)
		}
		return slices.DeleteFunc(slices.Clone(todo), func(p *point) bool { return p.over })
	}
	culprit := todo[out.failedAt]
	c.end(culprit, out.failure)
	if !culprit.over {
		return todo[out.failedAt:]
	}
	return todo[out.failedAt+1:]
}

func (c *carrying) end(p *point, f *cell.Failure) {
	if failure.OfMachine(f.Class) {
		if p.broken++; p.broken == 1 {
			return
		}
		if len(p.runs) > 0 {
			p.over = true
			p.result.Note = joinNotes(p.result.Note, fmt.Sprintf("%s only: %s: %s", plural(len(p.runs), "repeat"), f.Class, f.Detail))
			return
		}
	}
	p.over = true
	p.result.Verdict, p.result.Failure = cell.Fails, f
	if !f.Class.OfModel() {
		p.result.Verdict, p.result.Evidence = cell.Unknown, cell.None
	}
	p.result.Note = joinNotes(p.result.Note, fmt.Sprintf("the check had worked; repeat %d failed", len(p.runs)+1))
}

// askAgain is how often a busy machine is looked at while it is waited for.
const askAgain = 2 * time.Second

// quiet waits until other programs would not disturb the timing, for as long as
// the plan says, and says what they still do. Nothing of ours runs meanwhile.
func (c *carrying) quiet(ctx context.Context) (busy string, err error) {
	until := time.Now().Add(time.Duration(c.plan.WaitQuietS * float64(time.Second)))
	for said := false; ; said = true {
		busy = c.others(ctx)
		if busy == "" || !time.Now().Before(until) {
			return busy, nil
		}
		if !said {
			c.note(fmt.Sprintf("waiting for a quiet machine, up to %s: %s", time.Until(until).Round(time.Second), busy))
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(askAgain):
		}
	}
}

// others says when other programs would disturb the timing.
func (c *carrying) others(ctx context.Context) string {
	if c.Others == nil {
		return ""
	}
	return c.Others(ctx).disturbs()
}

// conclude finishes the series' results.
func (c *carrying) conclude(s *series) {
	for _, p := range s.points {
		p.result.Note = joinNotes(p.result.Note, s.note)
		fill(p.result, p.runs)
		p.result.Interference = p.interference()
		p.result.Context.Pinned = c.plan.Pin
		markBusy(p.result.Latency, s.busy)
		c.price(p.attempt)
		c.finish(*p.result)
	}
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

package lab

import (
	"fmt"
	"strings"

	"assay/internal/cell"
	"assay/internal/runner"
)

// trained adds what the parts of a step took in the repeats to what the check
// says of them.
func trained(checked *cell.Training, runs []pointRun) *cell.Training {
	if checked == nil {
		return nil
	}
	t := *checked
	t.Parts = parts(runs, func(p pointRun) map[string][]float64 {
		if p.Training == nil {
			return nil
		}
		return p.Training.PartsMS
	})
	return &t
}

// requested does the same for the parts of whole requests.
func requested(checked *cell.Requests, runs []pointRun) *cell.Requests {
	if checked == nil {
		return nil
	}
	q := *checked
	q.Parts = parts(runs, func(p pointRun) map[string][]float64 {
		if p.Pipeline == nil {
			return nil
		}
		return p.Pipeline.PartsMS
	})
	return &q
}

// parts are the times of a sample's parts over the repeats; nil where none were
// taken.
func parts(runs []pointRun, of func(pointRun) map[string][]float64) map[string]cell.Spread {
	byPart := map[string][][]float64{}
	for _, run := range runs {
		for part, ms := range of(run) {
			byPart[part] = append(byPart[part], ms)
		}
	}
	var out map[string]cell.Spread
	for part, samples := range byPart {
		if s := spread(samples); s != nil {
			if out == nil {
				out = map[string]cell.Spread{}
			}
			out[part] = *s
		}
	}
	return out
}

// mistrained says in a sentence what is wrong with the steps of training, if
// anything.
func mistrained(p runner.Report) string {
	t, n := p.Training, p.Numerics
	if t == nil {
		return ""
	}
	g := t.Gradients
	switch {
	case p.Finite != nil && !*p.Finite:
		return "the loss is not a number after a few steps: " + falling(t.Losses)
	case n != nil && !n.Pass:
		return fmt.Sprintf("the losses of a few steps differ from those of a loop on %s by %s of the largest, more than %.2g", n.Reference, number(n.MaxRel), n.Tolerance)
	case g != nil && len(g.Missed) > 0:
		return fmt.Sprintf("the optimiser moved %s other than the reference's: %s", plural(len(g.Missed), "parameter"), some(g.Missed))
	case g != nil && !g.Pass && g.Judged > 0:
		return fmt.Sprintf("the gradient of %s differs from the reference's by %s of its length, more than %.2g", g.Worst, number(g.MaxRel), g.Tolerance)
	case t.Adapters != nil && !t.Adapters.Pass:
		return fmt.Sprintf("%s of the frozen base moved: %s", plural(len(t.Adapters.BaseMoved), "parameter"), some(t.Adapters.BaseMoved))
	case t.Falls != nil && !*t.Falls:
		return "the loss does not fall on a batch that it is trained on: " + falling(t.Losses)
	}
	return ""
}

// unjudgedMode says what keeps the check of a mode from being whole, if anything.
func unjudgedMode(p runner.Report) string {
	switch t := p.Training; {
	case t != nil && (t.Gradients == nil || t.Gradients.Judged == 0):
		return "no gradient was large enough to be judged"
	case t != nil && t.Adapters != nil && t.Adapters.Control != nil && !t.Adapters.Control.Pass:
		return "the check is weak here: a weight of the base was trained too, and nothing noticed"
	case p.Generation != nil && p.Generation.OnePass.Wrong():
		return parted(p.Generation)
	}
	return ""
}

func falling(losses []*float64) string {
	words := make([]string, len(losses))
	for i, l := range losses {
		words[i] = number(l)
	}
	return strings.Join(words, " → ")
}

// ranked is how processes shared the work, with what the repeats say of it.
func ranked(checked *cell.Ranks, runs []pointRun) *cell.Ranks {
	if checked == nil {
		return nil
	}
	k := *checked
	of := func(value func(*cell.Ranks) *float64) *float64 {
		return middle(values(runs, func(p pointRun) *float64 {
			if p.Ranks == nil {
				return nil
			}
			return value(p.Ranks)
		}))
	}
	k.AloneMS = of(func(k *cell.Ranks) *float64 { return k.AloneMS })
	k.Efficiency = of(func(k *cell.Ranks) *float64 { return k.Efficiency })
	return &k
}

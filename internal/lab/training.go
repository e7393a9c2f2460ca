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
	byPart := map[string][][]float64{}
	for _, run := range runs {
		if run.Training == nil {
			continue
		}
		for part, ms := range run.Training.PartsMS {
			byPart[part] = append(byPart[part], ms)
		}
	}
	for part, samples := range byPart {
		if s := spread(samples); s != nil {
			if t.Parts == nil {
				t.Parts = map[string]cell.Spread{}
			}
			t.Parts[part] = *s
		}
	}
	return &t
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

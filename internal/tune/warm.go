package tune

import (
	"context"
	"fmt"
	"time"

	"assay/internal/measure"
	"assay/internal/pages"
	"assay/internal/platform"
)

// Graph is a model, or a part of one, as a page loads it.
type Graph struct {
	Name  string
	File  string            // of the graph, one of Files
	Files map[string]string // name → path on this machine
}

// createLimit bounds how long a page may take to load a graph, or to run it
// for the first time: software adapters compile shaders for minutes.
const createLimit = 5 * time.Minute

// create is the call that loads a graph.
func create(t platform.Target, g Graph, warm bool) pages.Call {
	return pages.Call{Op: "create", Files: g.Files, Limit: createLimit, With: map[string]any{
		"platform": t.Platform, "device": t.Device, "threads": 1, "graph": g.File, "warm": warm,
	}}
}

// WarmStart compares the first request of a page that has just loaded a graph
// with that of one which has run it once already, on blank inputs.
func (b *Bench) WarmStart(ctx context.Context, t platform.Target, g Graph) Row {
	row := Row{
		What: WarmStart, Subject: g.Name, Target: t.String(), Measure: "first inference after loading",
		A: Way{Name: "cold"}, B: Way{Name: "warm"},
	}
	var costs []float64
	row = b.compare(ctx, row, func(ctx context.Context, warmFirst bool) (cold, warm []float64, err error) {
		for _, warmed := range []bool{warmFirst, !warmFirst} {
			first, cost, err := b.first(ctx, t, g, warmed)
			switch {
			case err != nil:
				return nil, nil, err
			case warmed:
				warm, costs = []float64{first}, append(costs, cost)
			default:
				cold = []float64{first}
			}
		}
		return cold, warm, nil
	})
	if len(costs) > 0 {
		row.Notes = append(row.Notes, fmt.Sprintf("warming takes %s ms before the first request", ms(measure.Median(costs))))
	}
	return row.settled()
}

// first loads a graph in a fresh page and gives the milliseconds of its first
// request, and of what was done before to warm it.
func (b *Bench) first(ctx context.Context, t platform.Target, g Graph, warm bool) (first, cost float64, err error) {
	err = b.inPage(ctx, t, func(p Page) error {
		var made struct {
			PhasesMS struct {
				Warm float64 `json:"warm"`
			} `json:"phases_ms"`
		}
		var ran struct {
			MS float64 `json:"ms"`
		}
		err := inTurn(
			func() error { return p.Ask(ctx, create(t, g, warm), &made) },
			func() error { return p.Ask(ctx, pages.Call{Op: "blank"}, nil) },
			func() error { return p.Ask(ctx, pages.Call{Op: "run", Limit: createLimit}, &ran) },
		)
		first, cost = ran.MS, made.PhasesMS.Warm
		return err
	})
	return first, cost, err
}

// inTurn does one thing after the other up to the first that fails: a page that
// has no graph is not asked to run it.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

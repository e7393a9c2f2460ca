package tune

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"assay/internal/pages"
	"assay/internal/platform"
)

// ParallelLoad compares a worker of a page that loads a model's parts one
// after the other with a worker for each part, all at the same time. Inside
// one thread ONNX Runtime cannot make two sessions at once.
func (b *Bench) ParallelLoad(ctx context.Context, t platform.Target, model string, parts []Graph) Row {
	row := Row{
		What: ParallelLoad, Subject: model, Target: t.String(), Measure: "all parts loaded, ONNX Runtime with them",
		A: Way{Name: "one by one"}, B: Way{Name: "at once"}, Notes: []string{"parts: " + strings.Join(names(parts), ", ")},
	}
	if len(parts) < 2 {
		row.Refused = fmt.Sprintf("parts of %s that run on their own: %d; two are needed", model, len(parts))
		return row.settled()
	}
	return b.compare(ctx, row, func(ctx context.Context, atOnceFirst bool) (serial, parallel []float64, err error) {
		for _, atOnce := range []bool{atOnceFirst, !atOnceFirst} {
			var told struct {
				MS float64 `json:"ms"`
			}
			err := b.inPage(ctx, t, func(p Page) error { return p.Ask(ctx, load(t, parts, atOnce), &told) })
			switch {
			case err != nil:
				return nil, nil, err
			case atOnce:
				parallel = []float64{told.MS}
			default:
				serial = []float64{told.MS}
			}
		}
		return serial, parallel, nil
	}).settled()
}

// load is the call that loads parts, whose files have names of their own.
func load(t platform.Target, parts []Graph, atOnce bool) pages.Call {
	type part struct {
		Graph string   `json:"graph"`
		Files []string `json:"files"`
	}
	files, list := map[string]string{}, []part{}
	for _, g := range parts {
		p := part{Graph: g.File}
		for name := range maps.Keys(g.Files) {
			files[name] = g.Files[name]
			p.Files = append(p.Files, name)
		}
		list = append(list, p)
	}
	return pages.Call{Op: "load", Files: files, Limit: createLimit, With: map[string]any{
		"platform": t.Platform, "device": t.Device, "threads": 1, "parts": list, "at_once": atOnce,
	}}
}

func names(parts []Graph) []string {
	out := make([]string, len(parts))
	for i, g := range parts {
		out[i] = g.Name
	}
	return out
}

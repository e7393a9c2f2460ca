// Package plan turns a request into a plan: cells, in order.
//
// A Request is a plain value that can be written as JSON. The flags of a command
// fill one in; a plan file, the body of an HTTP call or the task of a fleet can
// be one. It names models (a type, a checkpoint, owner/name[@revision], a folder
// with a config.json, an ONNX file) or selects them, names targets (auto and all
// among them), and spreads both over dtypes, batches and lengths; or it holds
// cells that say everything themselves.
//
// The same request gives the same plan wherever it can be made without asking
// the machine. What only the machine knows is asked through two small
// interfaces: where auto goes and what all leaves out (Machine), and what is in
// the Hugging Face cache (Hub). A file or folder that a request names is looked
// at where the plan is made; Cell.Travels tells such cells from those that any
// machine can run.
//
// A request that cannot become a plan is a *RequestError: the user has
// to change something. Every other error is this machine's.
package plan

import (
	"context"
	"fmt"
	"log/slog"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/hub"
	"assay/internal/platform"
)

// Machine is what a plan needs to know about the machine it is for. It is asked
// only for what the request leaves open.
type Machine interface {
	// Report is what detection found, of which auto takes the best.
	Report(context.Context) (detect.Report, error)
	// EmulatedInBrowser reports whether a target would run in a browser on a
	// software adapter: right but slow, and so no part of all.
	EmulatedInBrowser(context.Context, platform.Target) (bool, error)
}

// Hub is where published models come from.
type Hub interface {
	// Cached is what the cache holds; it asks no server. Without it the error
	// is of kind hub.Offline.
	Cached(hub.Ref, hub.Want) (hub.Snapshot, error)
	// Fetch loads what the cache lacks.
	Fetch(context.Context, hub.Ref, hub.Want) (hub.Snapshot, error)
}

// Planner makes plans. It is for one asker at a time.
type Planner struct {
	Catalog *catalog.Catalog
	Machine Machine
	// Hub opens the Hub, on need.
	Hub func() (Hub, error)
	// Allow is what models may bring: pickles, code of their own. No request
	// can allow it for itself.
	Allow hub.Want
	// Most is how many cells a plan may have: settings multiply. 0 is no limit.
	Most int
	// Say tells the user what was decided. Nil tells nobody.
	Say func(string)
	// RuledOut is why auto is not to take a target for a model type, "" where nothing
	// speaks against it. It never says which of two is better. Nil rules nothing out.
	RuledOut func(modelType string, t platform.Target) string
	// Log takes details. Nil is nobody.
	Log *slog.Logger

	said map[string]bool // what auto came to
}

// Plan makes the plan that a request asks for.
func (p *Planner) Plan(ctx context.Context, r Request) (cell.Plan, error) {
	if err := r.Check(); err != nil {
		return cell.Plan{}, err
	}
	cells, err := p.cells(ctx, r)
	if err != nil {
		return cell.Plan{}, err
	}
	out, err := cell.Plan{
		Cells: cells, Timing: r.Timing, Strict: r.Strict, NoAdapt: r.NoAdapt, NoFallback: r.NoFallback,
		Laws: r.Laws, Scripts: r.Scripts, TimeoutS: r.TimeoutS, Repeats: r.Repeats,
		WaitQuietS: r.WaitQuietS, MaxTempC: r.MaxTempC, Pin: r.Pin,
	}.Normal()
	if err != nil {
		return cell.Plan{}, &RequestError{err}
	}
	return out, nil
}

// cells are the request's own, or models × targets × settings.
func (p *Planner) cells(ctx context.Context, r Request) ([]cell.Cell, error) {
	if len(r.Cells) > 0 {
		return Describe(p.Catalog, r.Cells)
	}
	models, err := p.Models(ctx, r)
	if err != nil {
		return nil, err
	}
	var out []cell.Cell
	for _, m := range models {
		targets, err := p.targets(ctx, r.Targets, m)
		if err != nil {
			return nil, err
		}
		for _, t := range targets {
			if t, err = takeGraph(m, t); err != nil {
				return nil, err
			}
			if p.Most > 0 && len(out)+r.settings() > p.Most {
				return nil, refuse("the request means more than %d cells: ask for fewer models, targets, dtypes, batches or lengths", p.Most)
			}
			out = append(out, r.spread(m.On(t))...)
		}
	}
	return out, nil
}

func (p *Planner) say(format string, args ...any) {
	if p.Say != nil {
		p.Say(fmt.Sprintf(format, args...))
	}
}

// RequestError is a request that cannot become a plan as it is.
type RequestError struct{ Err error }

func (e *RequestError) Error() string { return e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error {
	return &RequestError{fmt.Errorf(format, args...)}
}

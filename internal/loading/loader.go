// Package loading loads models for a pool: it finds the model that a request names
// by the rules of the commands, settles where it may run by what this machine has,
// and has a child of the session's runner hold it (the Python interface, package
// assay), in a page of a browser where the platform is one of those.
//
// Children are processes, so that a model that breaks takes nothing with it, and
// memory is what the system says that a process has for itself. Pipelines of
// diffusers on one target are held by one child, which has the parts that they share
// once; every other model has a child of its own.
package loading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/lab"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/pool"
	"assay/internal/session"
)

// Loader loads models in children of a session.
type Loader struct {
	Session *session.Session
	// Planner makes a planner for one request; it must not load anything from a
	// network.
	Planner func() *plan.Planner
	// Times are those that this host has of a model; nil knows none.
	Times   func(context.Context, cell.Cell) ([]cell.Time, error)
	Threads int // of a child
	Say     func(string)
}

// subject is what a request means, for the loader itself.
type subject struct {
	cell   cell.Cell // without a target
	recipe lab.Recipe
	asked  string // platform
}

// Find settles what a request means.
func (l *Loader) Find(ctx context.Context, r pool.Request) (pool.Subject, []pool.Place, error) {
	c, err := l.model(ctx, r)
	if err != nil {
		return pool.Subject{}, nil, err
	}
	targets, err := l.targets(ctx, r, c.Family)
	if err != nil {
		return pool.Subject{}, nil, err
	}
	recipe, err := l.Session.Recipe(ctx, c.On(targets[0].target), l.Say)
	if err != nil {
		return pool.Subject{}, nil, refused(err)
	}
	s := pool.Subject{
		Key: strings.Join([]string{c.Type, c.Checkpoint, c.Revision, c.Size, c.Weights}, "|"), Name: c.Model(), Of: subject{c, recipe, r.Platform},
	}
	if c.Family == "diffusion" {
		s.Share = "diffusion"
	}
	times, err := l.times(ctx, c)
	if err != nil {
		l.Say("the times of earlier runs cannot be read: " + err.Error())
	}
	var places []pool.Place
	for i, t := range targets {
		dtype := platform.DType(r.DType)
		if dtype == "" {
			dtype = t.target.DType()
		}
		places = append(places, pool.Place{
			Target: t.target.String(), DType: string(dtype), Device: t.device, Need: need(recipe.Parameters, dtype, t), Rank: i, MedianMS: times[t.target.String()],
		})
	}
	return s, places, nil
}

// model is the model that a request names, with its size and weights.
func (l *Loader) model(ctx context.Context, r pool.Request) (cell.Cell, error) {
	models, err := l.Planner().Models(ctx, plan.Request{Selector: catalog.Selector{Models: []string{r.Model}}, Settings: plan.Settings{Size: r.Size, Weights: r.Weights}})
	if unknown := (*catalog.UnknownModelError)(nil); errors.As(err, &unknown) {
		return cell.Cell{}, &pool.RefusedError{Kind: pool.UnknownModel, Err: err}
	}
	if wrong := (*plan.RequestError)(nil); errors.As(err, &wrong) {
		return cell.Cell{}, &pool.RefusedError{Kind: pool.Unsupported, Err: err}
	}
	if err != nil {
		return cell.Cell{}, &pool.RefusedError{Kind: pool.Unavailable, Err: err}
	}
	if len(models) != 1 {
		return cell.Cell{}, &pool.RefusedError{Kind: pool.UnknownModel, Err: fmt.Errorf("%q means %d models: name one", r.Model, len(models))}
	}
	return models[0], nil
}

// placed is a target and what its memory is.
type placed struct {
	target platform.Target
	device string // whose memory it takes; "" is the host's
}

// targets are those that may be tried, in order.
func (l *Loader) targets(ctx context.Context, r pool.Request, family string) ([]placed, error) {
	if r.DType != "" {
		if _, err := platform.ParseDType(r.DType); err != nil {
			return nil, &pool.RefusedError{Kind: pool.Unsupported, Err: err}
		}
	}
	if r.Platform == "" || r.Platform == plan.Auto {
		report, err := l.Session.Report(ctx)
		if err != nil {
			return nil, err
		}
		var out []placed
		for _, c := range detect.Ranked(report, family) {
			out = append(out, placed{c.Target, deviceOf(c.Target)})
		}
		if len(out) == 0 {
			return nil, &pool.RefusedError{Kind: pool.Unavailable, Err: errors.New("no platform is here: assay detect says why")}
		}
		return out, nil
	}
	t, err := plan.ParseTarget(r.Platform)
	if err != nil {
		return nil, &pool.RefusedError{Kind: pool.Unsupported, Err: err}
	}
	t = t.Normal()
	out := []placed{{t, deviceOf(t)}}
	p, _ := platform.Get(t.Platform)
	for _, name := range p.Fallback {
		other := platform.Target{Platform: name}.Normal()
		out = append(out, placed{other, deviceOf(other)})
	}
	return out, nil
}

// deviceOf is whose memory a target takes beside the host's.
func deviceOf(t platform.Target) string {
	switch t.Platform {
	case platform.CUDA, platform.ROCm:
		id := t.Device
		if id == "" {
			id = "0"
		}
		return string(t.Platform) + ":" + id
	}
	return ""
}

// The memory that is expected of a child beside its weights: what it has for itself
// once a model has run, and what making a model takes for a while.
const (
	childBytes  = 220 << 20
	graphBytes  = 500 << 20 // exporting and compiling
	pageBytes   = 400 << 20 // a browser's processes
	deviceBytes = 700 << 20 // a context on a GPU
	copies      = 2.2       // of the weights, while they are loaded
	graphCopies = 4.5       // while a graph is written, read and compiled
)

// need is what a model is expected to take at most.
func need(parameters int64, d platform.DType, t placed) pool.Bytes {
	weights := float64(parameters) * bytesOf(d)
	b := pool.Bytes{Host: childBytes + int64(copies*weights)}
	if t.target.Engine.Traits().Graphs {
		b.Host = childBytes + graphBytes + int64(graphCopies*float64(parameters)*4)
	}
	if t.target.Engine.Traits().Pages {
		b.Host += pageBytes
	}
	if t.device != "" {
		b.Device = deviceBytes + int64(1.5*weights)
	}
	return b
}

func bytesOf(d platform.DType) float64 {
	switch d {
	case platform.FP16, platform.BF16:
		return 2
	}
	return 4
}

// times are what history says that a model takes, by target.
func (l *Loader) times(ctx context.Context, c cell.Cell) (map[string]float64, error) {
	out := map[string]float64{}
	if l.Times == nil {
		return out, nil
	}
	list, err := l.Times(ctx, c)
	for _, t := range list { // newest first
		k := t.Cell
		same := k.Type == c.Type && k.Size == c.Size && (k.Size == cell.Tiny || k.Checkpoint == c.Checkpoint) && k.Mode == cell.Infer && k.Batch <= 1
		if _, newer := out[k.Target]; same && !newer && !t.Unstable {
			out[k.Target] = t.MedianMS
		}
	}
	return out, err
}

// refused is an error of the session as the pool takes it.
func refused(err error) error {
	var told interface{ Failure() cell.Failure }
	if errors.As(err, &told) {
		f := told.Failure()
		kind := pool.Unsupported
		if f.Class == cell.MissingWeights || f.Class == cell.MissingDependency || f.Class == cell.Environment {
			kind = pool.Unavailable
		}
		return &pool.RefusedError{Kind: kind, Err: fmt.Errorf("%s: %s", f.Class, f.Detail)}
	}
	return err
}

// loadQuestion asks a child to load a model.
type loadQuestion struct {
	Op      string          `json:"op"`
	Key     string          `json:"key"`
	Name    string          `json:"name"`
	Asked   string          `json:"asked"`
	Cell    cell.Cell       `json:"cell"`
	Recipe  json.RawMessage `json:"recipe"`
	Weights any             `json:"weights,omitempty"`
	Pages   []string        `json:"pages,omitempty"`
}

package loading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/pool"
	"assay/internal/session"
)

// process is a child and the models that it holds.
type process struct {
	*session.Holder

	mu     sync.Mutex
	models map[*model]bool
	over   bool
	device int64 // bytes, as the child said last
}

// join counts a model in; false where the child is ending.
func (p *process) join(m *model) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.models[m] = true
	return true
}

// leave counts a model out; the last one ends the child.
func (p *process) leave(m *model) (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.models, m)
	p.over = p.over || len(p.models) == 0
	return len(p.models) == 0
}

// model is a loaded one.
type model struct {
	loader   *Loader
	process  *process
	key      string
	settings json.RawMessage
	parts    []string
	visits   []*pages.Visit

	mu   sync.Mutex
	took pool.Bytes
}

// Load loads a subject in a place.
func (l *Loader) Load(ctx context.Context, s pool.Subject, p pool.Place, beside pool.Loaded) (pool.Loaded, error) {
	of, ok := s.Of.(subject)
	if !ok {
		return nil, errors.New("the subject is another loader's")
	}
	t, err := platform.ParseTarget(p.Target)
	if err != nil {
		return nil, err
	}
	if err := l.here(ctx, t); err != nil {
		return nil, err
	}
	release, err := l.Session.Share(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	m := &model{loader: l, key: s.Key + " " + p.Target + " " + p.DType}
	if err := m.start(ctx, beside); err != nil {
		return nil, err
	}
	c := of.cell.On(t)
	c.DType = platform.DType(p.DType)
	question := loadQuestion{Op: "load", Key: m.key, Name: s.Name, Asked: of.asked, Cell: c, Recipe: of.recipe.JSON}
	if question.Asked == "" {
		question.Asked = "auto"
	}
	if of.recipe.Weights != nil {
		question.Weights = of.recipe.Weights
	}
	if t.Normal().Engine.Traits().Pages {
		if question.Pages, err = m.visit(ctx, t); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	answer, err := m.ask(ctx, question)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	var told struct {
		Settings json.RawMessage
		Parts    []string
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.settings, m.parts = told.Settings, told.Parts
	return m, nil
}

// here refuses a platform that this machine lacks. Browsers say so themselves.
func (l *Loader) here(ctx context.Context, t platform.Target) error {
	t = t.Normal()
	if t.Platform == platform.CPU || t.Engine.Traits().Pages {
		return nil
	}
	report, err := l.Session.Report(ctx)
	if err != nil {
		return err
	}
	p, ok := report.Get(t.Platform)
	if !ok || p.Status != "present" {
		why := fmt.Sprintf("%s is not here", t.Platform)
		if p.Hint != "" {
			why += ": " + p.Hint
		}
		return &pool.RefusedError{Kind: pool.Unavailable, Err: errors.New(why)}
	}
	return nil
}

// start joins a child that another model is in, or starts one.
func (m *model) start(ctx context.Context, beside pool.Loaded) error {
	if other, ok := beside.(*model); ok && other != nil && other.process.join(m) {
		m.process = other.process
		return nil
	}
	h, err := m.loader.Session.Hold(ctx, m.loader.Threads)
	if err != nil {
		return err
	}
	m.process = &process{Holder: h, models: map[*model]bool{m: true}}
	return nil
}

// visit opens the ways to pages: one for inferences, one for generations, since a page
// holds one graph.
func (m *model) visit(ctx context.Context, t platform.Target) ([]string, error) {
	var out []string
	for range 2 {
		v, missing, err := m.loader.Session.Visit(ctx, t)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, &pool.RefusedError{Kind: pool.Unavailable, Err: errors.New(missing)}
		}
		m.visits = append(m.visits, v)
		out = append(out, v.Address())
	}
	return out, nil
}

// kinds are the pool's words for a child's.
var kinds = map[string]pool.Kind{
	"unknown-model": pool.UnknownModel, "unavailable": pool.Unavailable, "unsupported": pool.Unsupported, "bad-input": pool.BadInput,
	"failed": pool.BadInput, // the model's own code raised on this input; the child goes on
}

// ask asks the child.
func (m *model) ask(ctx context.Context, question any) (json.RawMessage, error) {
	answer, err := m.process.Ask(ctx, question)
	if err != nil {
		return nil, &pool.RefusedError{Kind: pool.Broke, Err: err}
	}
	if answer.DeviceBytes != nil {
		m.process.mu.Lock()
		m.process.device = *answer.DeviceBytes
		m.process.mu.Unlock()
	}
	if answer.Error != "" {
		return nil, &pool.RefusedError{Kind: kinds[answer.Kind], Err: errors.New(answer.Error)}
	}
	return answer.Value, nil
}

// Call runs an operation, not beside what is timed.
func (m *model) Call(ctx context.Context, op pool.Op, args json.RawMessage) (json.RawMessage, error) {
	release, err := m.loader.Session.Share(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return m.ask(ctx, map[string]any{"op": op, "key": m.key, "args": args})
}

// Settings tells what runs where.
func (m *model) Settings() json.RawMessage { return m.settings }

// Parts are those that it shares with others in the same child.
func (m *model) Parts() []string { return m.parts }

// Memory is what the child has for itself, without what it has for its other models.
func (m *model) Memory() (pool.Bytes, bool) {
	host, ok := private(m.process.PID)
	if !ok {
		return pool.Bytes{}, false
	}
	m.process.mu.Lock()
	defer m.process.mu.Unlock()
	total := pool.Bytes{Host: host, Device: m.process.device}
	for other := range m.process.models {
		if other != m {
			took := other.taken()
			total.Host, total.Device = max(0, total.Host-took.Host), max(0, total.Device-took.Device)
		}
	}
	m.mu.Lock()
	m.took = total
	m.mu.Unlock()
	return total, true
}

func (m *model) taken() pool.Bytes {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took
}

// releaseLimit is how long a child may take to give a model back.
const releaseLimit = time.Minute

// Close gives the model back, and ends the child of the last one.
func (m *model) Close() error {
	var failed []error
	if m.process.leave(m) {
		failed = append(failed, m.process.Close())
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), releaseLimit)
		defer cancel()
		_, err := m.ask(ctx, map[string]any{"op": "release", "key": m.key})
		failed = append(failed, err)
	}
	for _, v := range m.visits {
		failed = append(failed, v.Close())
	}
	m.visits = nil
	return errors.Join(failed...)
}

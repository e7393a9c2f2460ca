package main

import (
	"context"
	"errors"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/facts"
	"assay/internal/journal"
	"assay/internal/live"
	"assay/internal/matrix"
	"assay/internal/modelpage"
	"assay/internal/plan"
	"assay/internal/pool"
	"assay/internal/progress"
	"assay/internal/session"
)

// servedLab carries the dashboard's runs out on this machine.
type servedLab struct {
	app     *app
	flags   *hubFlags
	catalog *catalog.Catalog
	session *session.Session // that runs cells, and may install what they need
	present *session.Session // that installs nothing
	facts   *facts.Soon      // of present
}

// factsIn is how long who asks for a model's page waits for what must be derived.
const factsIn = time.Second

// open makes the sessions; Close closes them.
func (l *servedLab) open(s carryFlags) (err error) {
	if l.session, err = l.app.openSession(s.session(), l.catalog); err != nil {
		return err
	}
	if l.present, err = l.app.openPresentSession(l.catalog); err != nil {
		return err
	}
	l.facts = facts.NewSoon(facts.Sources{Known: l.present.KnownFacts, Derive: l.present.DeriveFacts}, factsIn)
	return nil
}

// mostCells is how many a run of the dashboard's may have: whoever asks for one in a few words gets no plan that
// fills the memory. Every type on every target is a fifth of it.
const mostCells = 50_000

// Begin plans a request. The journal is begun when the run's turn has come.
func (l *servedLab) Begin(ctx context.Context, r plan.Request, name string) (live.Work, error) {
	planner := l.app.planner(l.flags, l.catalog, l.session)
	planner.Most = mostCells
	p, err := planner.Plan(ctx, r)
	if err != nil {
		return live.Work{}, notHere(err)
	}
	h := l.session.Header(p, "serve")
	h.Run.Name = name
	return live.Work{
		Run: h.Run, Host: h.Host, Plan: p, Drop: func() error { return nil },
		Carry: func(ctx context.Context, on progress.Listener) error { return l.carry(ctx, h, p, on) },
	}, nil
}

func (l *servedLab) carry(ctx context.Context, h journal.Header, p cell.Plan, on progress.Listener) error {
	dir, err := l.app.home().JournalsToWrite(ctx)
	if err != nil {
		return err
	}
	// A machine that cannot run the plan leaves no empty journal behind.
	if err := l.session.Ready(ctx, p); err != nil {
		return err
	}
	j, err := journal.Create(dir, h)
	if err != nil {
		return err
	}
	_, err = l.session.Record(ctx, p, j, on)
	return err
}

// Detect is what this machine has.
func (l *servedLab) Detect(ctx context.Context) (detect.Report, error) {
	return l.present.Detect(ctx, session.Asking{Browsers: true})
}

// Page is everything known about one model, or that its facts are being derived.
func (l *servedLab) Page(ctx context.Context, look plan.Look, past func(string) []matrix.Observation) (modelpage.Page, error) {
	c, entry, err := look.Cell(l.catalog)
	if err != nil {
		return modelpage.Page{}, err
	}
	results := func(_ context.Context, modelType string) ([]matrix.Observation, error) { return past(modelType), nil }
	return modelpage.Make(ctx, c, entry, modelpage.Sources{Catalog: l.catalog, Facts: l.facts.Facts, Results: results, Atlas: l.app.published()})
}

// notHere makes of an environment that may not be installed what it is to who asks over HTTP: something that this
// machine lacks, and no fault of the server's.
func notHere(err error) error {
	if lacks := (*environment.Error)(nil); errors.As(err, &lacks) && lacks.Kind == environment.Forbidden {
		return &pool.RefusedError{Kind: pool.Unavailable, Err: err}
	}
	return err
}

// caller runs loaded models.
type caller struct{ *pool.Pool }

// Call is the pool's.
func (c caller) Call(ctx context.Context, r pool.Request) (pool.Answer, error) {
	answer, err := c.Pool.Call(ctx, r)
	return answer, notHere(err)
}

// Close closes what open made.
func (l *servedLab) Close() error {
	var failed []error
	if l.facts != nil {
		l.facts.Close()
	}
	for _, s := range []*session.Session{l.session, l.present} {
		if s != nil {
			failed = append(failed, s.Close())
		}
	}
	return errors.Join(failed...)
}

// Ask is a model as the atlas is asked about it.
func (l *servedLab) Ask(ctx context.Context, name string) (atlas.Model, error) {
	m, err := l.app.askedModel(ctx, l.catalog, name)
	if err != nil {
		return m, err
	}
	_, machine := l.app.ownResults([]atlas.Model{m})
	m.Room = l.app.room(machine, 0)
	return m, nil
}

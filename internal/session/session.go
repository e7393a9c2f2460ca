// Package session puts the parts together for a program that runs cells: the
// environment, its runner, what this machine has, the catalogue's recipes, and
// the lab that runs a plan. Each is made when first needed and at most once,
// so that a command pays only for what it uses: a plan of no-ops starts a bare
// runner without torch, a plan for the CPU asks no GPU's driver anything. No lock
// is held while a part is made, which may take minutes: whoever waits for it may
// leave, and Close ends it.
//
// Both programs are built on it, the full one and the static worker; it has
// nothing that needs cgo.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/content"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/exports"
	"assay/internal/lab"
	"assay/internal/lazy"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/runner"
)

// Options are set once, in main. Only Catalog and Environments are needed.
type Options struct {
	Environments Environments
	Catalog      *catalog.Catalog
	Version      string // of the program
	Name         string // that the user gave the runs of this session
	// Folders are the user's: answers of detection, recipes that were searched
	// for, exported models, what was measured of browsers. The zero one keeps
	// nothing but exported models, among the temporary files.
	Folders environment.Folders
	// Machine is where detection looks, and Answers what its second pass says;
	// nil are this machine, and what the environment's libraries answer. A
	// captured machine has both.
	Machine *detect.Machine
	Answers detect.Answers
	// Workers is how many functional children run in parallel, of all plans
	// together; 0 is one per core, at most sixteen. Memory admits fewer where it
	// is short.
	Workers int
	// Limit is how long one child may take; 0 is ten minutes.
	Limit time.Duration
	// Opset is that of ONNX graphs to be exported; 0 is the exporter's own.
	Opset int
	// Keep is a folder for the outputs of checked cells; "" keeps none.
	Keep string
	// ExportsLimit is how many bytes exported models may take; 0 is the default.
	ExportsLimit int64
	// Past reads the times that this host has of a plan's models, once before a
	// plan that may fall back; see lab.Past. Nil is a program that keeps none.
	Past func(ctx context.Context, host string, plan cell.Plan) ([]cell.Time, error)
	// Confine changes how runners are started, so that they and their children are held to
	// a policy; nil leaves them as free as the program.
	Confine func(runner.Command) runner.Command
	// Weights says how cells with given weights come to them.
	Weights Weights
}

// Session is one program's use of this machine. It is safe for concurrent use:
// plans that are run at the same time share its parts, and the memory
// and cores that there are.
type Session struct {
	o         Options
	admission *lab.Admission
	start     func(ctx context.Context, env environment.Environment, bare bool) (runner.Runner, error)

	// The parts, each made when first needed for all who wait for it.
	environment *lazy.Value[environment.Environment]
	webPackages *lazy.Value[environment.Web]
	whole, bare *lazy.Value[*open]
	report      *lazy.Value[detect.Report]
	browsers    *lazy.Value[*web]
	guests      *lazy.Value[*Guests]
	sighted     func() detect.Sighting
	book        func() *content.Book // remembers digests for the length of the session and, with a cache, beyond

	mu     sync.Mutex
	untold []string // what runners said about themselves and nobody has been told
}

const mostWorkers = 16

// New returns a session; nothing is started yet. It is how every program comes
// to one.
func New(o Options) *Session {
	if o.Workers <= 0 {
		o.Workers = min(mostWorkers, runtime.GOMAXPROCS(0)) // which heeds a container's limit
	}
	if o.Limit <= 0 {
		o.Limit = 10 * time.Minute
	}
	if o.Machine == nil {
		o.Machine = detect.Live()
	}
	s := &Session{o: o, admission: lab.NewAdmission(o.Workers), start: startPython(o.Confine)}
	s.environment = lazy.New(func(ctx context.Context) (environment.Environment, error) { return o.Environments.Python(ctx) })
	s.webPackages = lazy.New(func(ctx context.Context) (environment.Web, error) { return o.Environments.Web(ctx) })
	s.whole, s.bare = lazy.New(s.startWhole), lazy.New(s.startBare)
	s.report = lazy.New(s.detect)
	s.browsers = lazy.New(s.findBrowsers)
	s.guests = lazy.New(s.serveGuests)
	s.sighted = sync.OnceValue(func() detect.Sighting { return detect.Look(o.Machine) })
	s.book = sync.OnceValue(func() *content.Book { return &content.Book{Dir: s.cache("contents")} })
	return s
}

// Close ends what was started, and what is being started: it returns when
// nothing of it is left. A closed session is over.
func (s *Session) Close() error {
	end := func(r *open) error { return r.Close() }
	return errors.Join(
		s.report.Close(nil), s.whole.Close(end), s.bare.Close(end),
		s.browsers.Close((*web).close), s.guests.Close(func(g *Guests) error { return g.Pages.Close() }),
		s.webPackages.Close(nil), s.environment.Close(nil),
	)
}

// Ready starts the runner that a plan needs, so that what is missing is said
// before a journal is begun.
func (s *Session) Ready(ctx context.Context, plan cell.Plan) error {
	_, err := s.runner(ctx, onlyNoops(plan))
	return err
}

// Carry runs a plan on this machine.
func (s *Session) Carry(ctx context.Context, plan cell.Plan, on progress.Listener) error {
	r, err := s.runner(ctx, onlyNoops(plan))
	if err != nil {
		return err
	}
	w, err := s.pagesFor(ctx, plan)
	if err != nil {
		return err
	}
	m, err := s.where(ctx, plan, r, w)
	if err != nil {
		return err
	}
	return s.carry(ctx, plan, r, place{pages.Runner{Inner: r, Host: w.host}, m, s.o.Workers, s.past(ctx, plan), lab.Others, ""}, on)
}

// place is where a plan is run: who runs its jobs, what is there, and
// how many cells may run there in parallel.
type place struct {
	runner  lab.Runner
	machine lab.Machine
	workers int
	past    lab.Past
	others  func(context.Context) lab.Load // nil where the cells run on another machine
	of      string                         // that machine
}

// devices looks at this machine's devices; nil where the cells run on another.
func (p place) devices() func(context.Context, bool) lab.Device {
	if p.others == nil {
		return nil
	}
	return lab.Devices
}

func (s *Session) carry(ctx context.Context, plan cell.Plan, r *open, at place, on progress.Listener) error {
	on = progress.OneAtATime(on) // downloads tell of themselves beside the lab
	note := func(text string) { _ = on.Hear(progress.Note(text)) }
	return errors.Join(s.lab(r, at, note).Carry(ctx, plan, on), s.collect(plan, note))
}

// lab is who runs cells at a place.
func (s *Session) lab(r *open, at place, note func(string)) *lab.Lab {
	s.tell(note)
	return &lab.Lab{
		Runner: at.runner, Recipes: s.weighted(r, note), Machine: at.machine,
		Workers: at.workers, Admission: s.admission, Of: at.of, Limit: s.o.Limit,
		Hush: lab.Hush(os.TempDir()), Others: at.others, Devices: at.devices(), Exports: s.exports(), Keep: s.o.Keep, Opset: s.o.Opset, Tables: s.cache("tables"), Context: s.context(r), Past: at.past,
	}
}

// Try checks the one cell of a timed plan on this machine; its repeats are run when
// the caller says so.
func (s *Session) Try(ctx context.Context, plan cell.Plan, on progress.Listener) (*lab.Trial, error) {
	r, err := s.runner(ctx, onlyNoops(plan))
	if err != nil {
		return nil, err
	}
	w, err := s.pagesFor(ctx, plan)
	if err != nil {
		return nil, err
	}
	m, err := s.where(ctx, plan, r, w)
	if err != nil {
		return nil, err
	}
	on = progress.OneAtATime(on)
	note := func(text string) { _ = on.Hear(progress.Note(text)) }
	return s.lab(r, place{pages.Runner{Inner: r, Host: w.host}, m, s.o.Workers, lab.Past{}, lab.Others, ""}, note).Try(ctx, plan, on)
}

// tell says once what runners said about themselves.
func (s *Session) tell(note func(string)) {
	s.mu.Lock()
	said := s.untold
	s.untold = nil
	s.mu.Unlock()
	for _, text := range said {
		note(text)
	}
}

// collect keeps the cache of exported models within its limit after a plan
// that used it.
func (s *Session) collect(plan cell.Plan, note func(string)) error {
	if !slices.ContainsFunc(plan.Cells, func(c cell.Cell) bool { return c.Engine.Traits().Graphs }) {
		return nil
	}
	limit := cmp.Or(s.o.ExportsLimit, exports.Limit)
	done, err := exports.Cache{Dir: s.exports()}.Collect(limit)
	if n := len(done.Removed); n > 0 {
		note(fmt.Sprintf("the cache of exported models was cleared of %d entries, %.1f GB (its limit is %.1f GB)", n, float64(done.Freed)/1e9, float64(limit)/1e9))
	}
	return err
}

func onlyNoops(p cell.Plan) bool {
	for _, c := range p.Cells {
		if c.Engine != platform.Noop {
			return false
		}
	}
	return true
}

// context is what is the same for every result of this session.
func (s *Session) context(r *open) cell.Context {
	versions := map[string]string{"assay": s.o.Version}
	for name, v := range r.Hello().Versions {
		versions[name] = v
	}
	return cell.Context{Versions: versions, EnvironmentID: r.env.ID}
}

// Sighting is what the first pass of detection saw: it asks nobody anything.
func (s *Session) Sighting() detect.Sighting { return s.sighted() }

// Host is this machine's fingerprint, from the first pass alone.
func (s *Session) Host() cell.Host { return detect.Judge(s.Sighting(), nil).Host }

// Detected is the full detection of this session, if one was needed.
func (s *Session) Detected() (detect.Report, bool) {
	return s.report.Made()
}

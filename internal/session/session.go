// Package session puts the parts together for a program that runs cells: the
// environment, its runner, what this machine has, the catalogue's recipes, and
// the lab that carries a plan out. Each is made on first need and at most once,
// so that a command pays only for what it uses: a plan of no-ops starts a bare
// runner without torch, a plan for the CPU asks no GPU's driver anything.
//
// Both programs are built on it, the full one and the static worker; it holds
// nothing that needs cgo.
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/runner"
	"assay/internal/runner/python"
)

// Options are set once, in main.
type Options struct {
	// Environment opens the environment the user chose, making it if need be.
	Environment func(context.Context) (environment.Environment, error)
	// Bare opens any Python at all with the runner's sources: enough for no-ops.
	Bare    func(context.Context) (environment.Environment, error)
	Catalog *catalog.Catalog
	// Workers is how many functional children run side by side; 0 is one a
	// core, at most sixteen. Memory admits fewer where it is short.
	Workers int
	// Limit is how long one child may take; 0 is ten minutes.
	Limit time.Duration
	// Cache is the folder for answers of detection's second pass and for
	// recipes that were searched for.
	Cache string
	// Exports is the folder of exported models; "" is a temporary one.
	Exports string
	// Opset is that of ONNX graphs to be exported; 0 is the exporter's own.
	Opset int
	// Keep is a folder for the outputs of checked cells; "" keeps none.
	Keep string
	// ExportsLimit is how many bytes it may hold; 0 is the default.
	ExportsLimit int64
	Version      string // of the program
	// Past reads the times that this host has of a plan's models, once before a
	// plan that may fall back; see lab.Past. Nil is a program that keeps none.
	Past func(ctx context.Context, host string, plan cell.Plan) ([]lab.Known, error)
	// Web opens the web environment, making it if need be; nil where cells in
	// browsers are not run.
	Web func(context.Context) (environment.Web, error)
	// Tuned is what was measured of a browser before, for its pages; see
	// pages.Files. Nil is nothing.
	Tuned func(pages.About) (any, error)
	// Weights says how cells with given weights come to them.
	Weights Weights
}

// Session is one program's use of this machine.
type Session struct {
	o Options

	mu      sync.Mutex
	runners map[bool]*open // by bare
	machine *detect.Machine
	seen    *detect.Sighting
	report  *detect.Report
	web     *web
	guests  *Guests
	untold  []string // what runners said of themselves and nobody has been told

	contents *content.Book
}

// open is a runner and the environment it lives in.
type open struct {
	runner.Runner
	env environment.Environment
}

const mostWorkers = 16

// New returns a session; nothing is started yet.
func New(o Options) *Session {
	if o.Workers <= 0 {
		o.Workers = min(mostWorkers, runtime.GOMAXPROCS(0)) // which heeds a container's limit
	}
	if o.Limit <= 0 {
		o.Limit = 10 * time.Minute
	}
	return &Session{o: o, runners: map[bool]*open{}, machine: detect.Live()}
}

// Close ends what was started.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, r := range s.runners {
		err = errors.Join(err, r.Close())
	}
	clear(s.runners)
	if s.web != nil {
		err = errors.Join(err, s.web.close())
	}
	if s.guests != nil {
		err = errors.Join(err, s.guests.Pages.Close())
	}
	s.web, s.guests = nil, nil
	return err
}

// runner returns the runner that a plan needs, started.
func (s *Session) runner(ctx context.Context, bare bool) (*open, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runners[bare]; r != nil {
		return r, nil
	}
	find := s.o.Environment
	if bare {
		find = s.o.Bare
	}
	env, err := find(ctx)
	if err != nil {
		return nil, err
	}
	r, err := python.Runner{Python: env.Python, Env: env.Environ(ctx), Bare: bare}.StartRestarting(ctx)
	if err != nil {
		return nil, err
	}
	s.untold = append(s.untold, r.Hello().Notes...)
	s.runners[bare] = &open{Runner: runner.Lowering{Runner: r, Levels: levels(env)}, env: env}
	return s.runners[bare], nil
}

// Ready starts the runner that a plan needs, so that what is missing is said
// before a journal is begun.
func (s *Session) Ready(ctx context.Context, plan cell.Plan) error {
	_, err := s.runner(ctx, onlyNoops(plan))
	return err
}

// Carry carries a plan out on this machine.
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
	return s.carry(ctx, plan, r, place{pages.Runner{Inner: r, Host: w.host}, m, s.o.Workers, s.past(ctx, plan), lab.Others}, on)
}

// place is where a plan is carried out: who runs its jobs, what is there, and
// how many cells may run there side by side.
type place struct {
	runner  lab.Runner
	machine lab.Machine
	workers int
	past    lab.Past
	others  func(context.Context) lab.Load // nil where the cells run on another machine
}

func (s *Session) carry(ctx context.Context, plan cell.Plan, r *open, at place, on progress.Listener) error {
	on = progress.OneAtATime(on) // downloads tell of themselves beside the lab
	note := func(text string) { _ = on.Hear(progress.Note(text)) }
	s.tell(note)
	l := &lab.Lab{
		Runner: at.runner, Recipes: s.weighted(r, note), Machine: at.machine,
		Workers: at.workers, Limit: s.o.Limit,
		Hush: lab.Hush(os.TempDir()), Others: at.others, Exports: s.exports(), Keep: s.o.Keep, Opset: s.o.Opset, Tables: s.tables(), Context: s.context(r), Past: at.past,
	}
	return errors.Join(l.Carry(ctx, plan, on), s.collect(plan, note))
}

// tell says once what runners said of themselves.
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
	if !slices.ContainsFunc(plan.Cells, func(c cell.Cell) bool { return c.Engine.RunsGraphs() }) {
		return nil
	}
	limit := cmp.Or(s.o.ExportsLimit, exports.Limit)
	done, err := exports.Cache{Dir: s.exports()}.Collect(limit)
	if n := len(done.Removed); n > 0 {
		note(fmt.Sprintf("the cache of exported models was cleared of %d entries, %.1f GB (its limit is %.1f GB)", n, float64(done.Freed)/1e9, float64(limit)/1e9))
	}
	return err
}

// tables is the folder of what runners read of their libraries.
func (s *Session) tables() string {
	if s.o.Cache == "" {
		return ""
	}
	return filepath.Join(s.o.Cache, "tables")
}

// exports is the folder of exported models. Without a cache they last as long
// as the machine's temporary files do.
func (s *Session) exports() string {
	return cmp.Or(s.o.Exports, filepath.Join(os.TempDir(), "assay-exports"))
}

// recipes are those for one release of transformers; what was searched for is
// kept apart from other releases'.
func (s *Session) recipes(r *open) *recipes {
	out := s.knownRecipes(r.Hello().Versions["transformers"])
	out.runner, out.threads = r, max(1, s.cores()/s.o.Workers)
	return out
}

// cores are the physical ones that this process may use.
func (s *Session) cores() int { return max(1, s.sighting().CPU.Usable) }

// knownRecipes are those that are at hand without a runner.
func (s *Session) knownRecipes(release string) *recipes {
	out := &recipes{catalog: s.o.Catalog, limit: s.o.Limit, release: release}
	if s.o.Cache != "" && out.release != "" {
		// Another Assay may search better.
		out.cache = filepath.Join(s.o.Cache, "recipes-"+out.release+"-"+s.o.Version)
	}
	return out
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

// Host is this machine's fingerprint, from the first pass alone.
func (s *Session) Host() cell.Host { return detect.Judge(s.sighting(), nil).Host }

func (s *Session) sighting() detect.Sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		seen := detect.Look(s.machine)
		s.seen = &seen
	}
	return *s.seen
}

// Catalog reads the model types of the environment's transformers.
func (s *Session) Catalog(ctx context.Context) (json.RawMessage, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return nil, err
	}
	answer, raised, err := ask(ctx, r, runner.Job{Kind: runner.CatalogJob})
	if raised != nil {
		err = fmt.Errorf("the types cannot be read: %s: %s", raised.Type, raised.Message)
	}
	return answer, err
}

// ask runs a job that is a question. Without an answer there is an exception
// or an error.
func ask(ctx context.Context, r runner.Runner, job runner.Job) (answer json.RawMessage, raised *runner.Failure, err error) {
	exit, err := r.Run(ctx, job, func(e runner.Event) {
		switch e := e.(type) {
		case runner.Again:
			answer, raised = nil, nil
		case runner.Data:
			answer = e.Data
		case runner.Failure:
			raised = &e
		}
	})
	if err == nil && raised == nil && answer == nil {
		err = fmt.Errorf("the child %s", exit)
	}
	return answer, raised, err
}

// deciding are the libraries that decide what a cell's result is, by the names
// that runners report.
var deciding = []string{"python", "torch", "transformers", "diffusers", "timm", "onnx", "onnxscript", "onnxruntime", "onnxruntime-qnn", "openvino", "nncf", "coremltools"}

// Versions are those that decide whether an old result still speaks: a cell
// done with the same ones need not be done again.
func (s *Session) Versions(ctx context.Context) (map[string]string, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"assay": s.o.Version}
	for _, name := range deciding {
		if v := r.Hello().Versions[name]; v != "" {
			out[name] = v
		}
	}
	return out, nil
}

// Detected is the full detection of this session, if one was needed.
func (s *Session) Detected() (detect.Report, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report == nil {
		return detect.Report{}, false
	}
	return *s.report, true
}

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"assay/internal/browser"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/lab"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/tune"
	"assay/runtimes/web/page"
)

// web is what cells in browsers need: the browsers that are here, and the host
// of the pages that they open.
type web struct {
	browsers []browser.Options
	report   detect.Report // of what they have
	pool     *pages.Pool
	host     *pages.Host
	missing  string // why no page can be opened; "" when one can
}

// close ends what was started.
func (w *web) close() error {
	if w.host == nil {
		return nil
	}
	return errors.Join(w.host.Close(), w.pool.Close())
}

// needsPages reports whether a plan has cells that run in a browser.
func needsPages(p cell.Plan) bool {
	return slices.ContainsFunc(p.Cells, func(c cell.Cell) bool { return c.Engine.Traits().Pages })
}

// pagesFor returns what a plan's cells in browsers need, made once. What is
// missing is not an error: such cells are unavailable, and the others run.
func (s *Session) pagesFor(ctx context.Context, plan cell.Plan) (*web, error) {
	if !needsPages(plan) {
		return &web{}, nil
	}
	return s.browsers.Get(ctx)
}

// EmulatedInBrowser reports whether a target would run in a browser on an
// adapter that is software: right, but slow, and no news of any GPU.
func (s *Session) EmulatedInBrowser(ctx context.Context, t platform.Target) (bool, error) {
	if t.Platform != platform.WebGPU {
		return false, nil
	}
	// A Python that cannot be used is said before anything is installed.
	if _, err := s.runner(ctx, false); err != nil {
		return false, err
	}
	w, err := s.browsers.Get(ctx)
	return err == nil && w.presence(t).Software, err
}

// findBrowsers opens the browsers' side of the session.
func (s *Session) findBrowsers(ctx context.Context) (*web, error) {
	w, err := s.openWeb(ctx)
	if err != nil {
		w = &web{missing: err.Error()}
	}
	if cause := context.Cause(ctx); cause != nil { // half an answer is none
		return nil, errors.Join(cause, w.close())
	}
	return w, nil
}

// Page opens a page where a target says, in a browser that nothing else uses,
// for the program itself to call. The caller closes it.
func (s *Session) Page(ctx context.Context, t platform.Target) (*pages.Lone, error) {
	w, err := s.browsers.Get(ctx)
	if err != nil {
		return nil, err
	}
	if w.host == nil {
		return nil, errors.New(w.why())
	}
	return w.host.Lone(ctx, pages.Where{Target: t, Alone: true})
}

// Opener opens an address in a browser.
type Opener func(ctx context.Context, url string) (pages.Page, error)

// Opener returns what opens addresses in a browser that has what a target means,
// one that such pages share. Where none has it, missing says why.
func (s *Session) Opener(ctx context.Context, t platform.Target) (open Opener, missing string, err error) {
	w, err := s.browsers.Get(ctx)
	if err != nil {
		return nil, "", err
	}
	if here := w.presence(t); !here.Present {
		return nil, here.Reason, nil
	}
	return func(ctx context.Context, url string) (pages.Page, error) {
		return w.pool.Open(ctx, pages.Where{Target: t}, url)
	}, "", nil
}

// Alone waits until no other assay runs anything on this host, and keeps
// others waiting until what it returns is called.
func (s *Session) Alone(ctx context.Context, note func(string)) (release func(), err error) {
	return lab.Hush(os.TempDir())(ctx, true, note)
}

func (s *Session) openWeb(ctx context.Context) (*web, error) {
	env, err := s.webPackages.Get(ctx)
	if err != nil {
		return nil, err
	}
	w := &web{browsers: browser.Find(ctx, s.o.Machine, env)}
	if len(w.browsers) == 0 {
		return nil, s.noBrowser()
	}
	answers := browser.Asking{Machine: s.o.Machine, Web: env, Cache: s.cache("")}.Answers(ctx)
	w.report = detect.Judge(s.Sighting(), answers)
	w.pool = pages.NewPool(func(_ context.Context, t platform.Target) (browser.Options, error) { return w.choose(t) })
	w.host, err = pages.Serve(w.pool, pages.Files{Page: page.Files(), Package: packages(env), Tuned: s.tuned()})
	return w, err
}

// tuned is what was measured of a browser before, for its pages; see pages.Files.
func (s *Session) tuned() func(pages.About) (any, error) {
	if s.o.Folders.Data == "" {
		return nil
	}
	return func(about pages.About) (any, error) { return tune.BookIn(s.o.Folders.Data).For(about.Browser) }
}

// served are the packages that pages may load.
var served = []string{"onnxruntime-web", "@huggingface/transformers"}

func packages(env environment.Web) func(string) (string, bool) {
	return func(name string) (string, bool) { return env.Package(name), slices.Contains(served, name) }
}

// choose is the browser that a target means: the first that has what the
// platform needs, of the named kind if one is named.
func (w *web) choose(t platform.Target) (browser.Options, error) {
	d, err := w.device(t)
	if err != nil {
		return browser.Options{}, err
	}
	for _, o := range w.browsers {
		if o.Kind == d.Browser {
			return browser.AsAsked(o, w.report), nil
		}
	}
	return browser.Options{}, fmt.Errorf("the browser %s is no longer here", d.Browser)
}

// device is what a target means, of those that the browsers have.
func (w *web) device(t platform.Target) (detect.Device, error) {
	if !slices.ContainsFunc(w.browsers, func(o browser.Options) bool { return means(t, o.Kind) }) {
		return detect.Device{}, fmt.Errorf("the browser %s is not here: there are %s", t.Browser, strings.Join(w.kinds(), ", "))
	}
	for _, d := range w.devices(t) {
		if means(t, d.Browser) && (t.Device == "" || t.Device == d.ID) {
			return d, nil
		}
	}
	p, _ := w.report.Get(t.Platform)
	return detect.Device{}, errors.New(w.lacks(p, t))
}

// devices are those of a target's platform. Every browser's own processor is
// one, and nobody needs to be asked about it.
func (w *web) devices(t platform.Target) []detect.Device {
	if t.Engine == platform.Wasm {
		out := make([]detect.Device, len(w.browsers))
		for i, o := range w.browsers {
			out[i].Browser = o.Kind
		}
		return out
	}
	p, _ := w.report.Get(t.Platform)
	return p.Devices
}

// lacks says why no browser has what a target means, in detection's own words:
// those of the first browser that says something of the device, else of the
// first that says anything.
func (w *web) lacks(p detect.Platform, t platform.Target) string {
	var words []string
	for _, kind := range w.kinds() {
		for _, e := range p.Evidence {
			if e.Source != kind || !means(t, kind) {
				continue
			}
			if t.Device != "" && strings.Contains(e.Detail, "'s "+t.Device) {
				return kind + ": " + e.Detail
			}
			words = append(words, kind+": "+e.Detail)
		}
	}
	switch known := ids(slices.CompactFunc(slices.Clone(p.Devices), sameID)); {
	case t.Device != "" && known != "":
		return fmt.Sprintf("there is no device %s: the devices are %s", t.Device, known)
	case len(words) > 0:
		return words[0]
	}
	return reason(p, t)
}

// means reports whether a target's browser is of a kind. Chromium's name
// stands for the packed one too.
func means(t platform.Target, kind string) bool {
	return t.Browser == "" || t.Browser == kind || t.Browser == browser.Chromium && kind == browser.Packed
}

func (w *web) kinds() []string {
	out := make([]string, len(w.browsers))
	for i, o := range w.browsers {
		out[i] = o.Kind
	}
	return out
}

// presence is what the browsers have of a target.
func (w *web) presence(t platform.Target) lab.Presence {
	if w == nil || w.host == nil {
		return lab.Presence{Reason: w.why()}
	}
	d, err := w.device(t)
	if err != nil {
		return lab.Presence{Reason: err.Error()}
	}
	return presence(d)
}

// why says why no page can be opened.
func (w *web) why() string {
	if w == nil || w.missing == "" {
		return "no browser was started"
	}
	return w.missing
}

// noBrowser says why there is none.
func (s *Session) noBrowser() error {
	if names, set := s.o.Machine.Env(detect.BrowsersVariable); set {
		return fmt.Errorf("%s=%s excludes every browser here: unset it, or name another", detect.BrowsersVariable, names)
	}
	return errors.New("no browser is installed: install Chromium, Chrome, Edge or Firefox")
}

func sameID(a, b detect.Device) bool { return a.ID == b.ID }

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/browser"
	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/lab"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/runtimes/web/page"
)

// web is what cells in browsers need: the browsers that are here, and the host
// of the pages that they open.
type web struct {
	browsers []browser.Options
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
	return slices.ContainsFunc(p.Cells, func(c cell.Cell) bool { return pages.NeedsPage(c.Engine) })
}

// pagesFor returns what a plan's cells in browsers need, made once. What is
// missing is no error: such cells are unavailable, and the others run.
func (s *Session) pagesFor(ctx context.Context, plan cell.Plan) (*web, error) {
	if !needsPages(plan) {
		return &web{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.web != nil {
		return s.web, nil
	}
	w, err := s.openWeb(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		w = &web{missing: err.Error()}
	}
	s.web = w
	return w, nil
}

func (s *Session) openWeb(ctx context.Context) (*web, error) {
	if s.o.Web == nil {
		return nil, errors.New("this program runs no cells in browsers")
	}
	env, err := s.o.Web(ctx)
	if err != nil {
		return nil, err
	}
	w := &web{browsers: browser.Find(ctx, s.machine, env)}
	if len(w.browsers) == 0 {
		return nil, errors.New("no browser is installed: install Chromium, Chrome, Edge or Firefox")
	}
	w.pool = pages.NewPool(func(_ context.Context, t platform.Target) (browser.Options, error) { return w.choose(t) })
	w.host, err = pages.Serve(w.pool, pages.Files{Page: page.Files(), Package: packages(env)})
	return w, err
}

// served are the packages that pages may load.
var served = []string{"onnxruntime-web", "@huggingface/transformers"}

func packages(env environment.Web) func(string) (string, bool) {
	return func(name string) (string, bool) { return env.Package(name), slices.Contains(served, name) }
}

// choose is the browser that a target means: the named one, or the first that
// is here. Chromium's name stands for the packed one too.
func (w *web) choose(t platform.Target) (browser.Options, error) {
	for _, o := range w.browsers {
		if t.Browser == "" || t.Browser == o.Kind || t.Browser == browser.Chromium && o.Kind == browser.Packed {
			return o, nil
		}
	}
	return browser.Options{}, fmt.Errorf("the browser %s is not here: there are %s", t.Browser, strings.Join(w.kinds(), ", "))
}

func (w *web) kinds() []string {
	out := make([]string, len(w.browsers))
	for i, o := range w.browsers {
		out[i] = o.Kind
	}
	return out
}

// presence is what is known of a target in a browser without asking it.
func (w *web) presence(t platform.Target) lab.Presence {
	if w == nil || w.host == nil {
		return lab.Presence{Reason: w.why()}
	}
	o, err := w.choose(t)
	if err != nil {
		return lab.Presence{Reason: err.Error()}
	}
	return lab.Presence{Present: true, Software: o.Software && t.Platform == platform.WebGPU}
}

// why says why no page can be opened.
func (w *web) why() string {
	if w == nil || w.missing == "" {
		return "no browser was started"
	}
	return w.missing
}

// Package pages is the way from a runner's child to a page in a browser.
//
// A web platform's engine is a page: it has a graph compiled by ONNX Runtime
// Web and runs it. Everything else of such a cell (recipe, export, reference,
// negative control, verdict) is the same as for every engine of exported
// graphs, and happens in the runner's child. So the child's engine is a remote
// control, and this package is what connects the two:
//
//	child ── HTTP ──► Host ── WebSocket ──► page
//
// A Visit is one job's permission to use pages; it has an address with a secret in
// it, which is all that the child is told. The child asks for a fresh page,
// then sends calls: frames of a JSON header and raw tensors (frame.go). The
// host passes a frame to the page unchanged, and the answer back, and looks into
// the header only for what is its own: files to be served to the page, and how
// long the call may take. A page that is gone, or does not answer in time,
// costs its own visit and nothing else.
//
// Which browser opens the page is decided by Browsers; the host only knows
// that a page with the right secret connected. So a page on someone's phone
// is served just like one that was started for the job.
package pages

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"

	"assay/internal/platform"
)

// Where says which page a visit needs.
type Where struct {
	Target platform.Target
	// Alone asks for a browser that nothing else uses: for timed cells.
	Alone bool
	// In are the browsers that open it; nil are the host's own.
	In Browsers
}

// About is what is known about a browser from outside of its pages.
type About struct {
	Browser  string `json:"browser"` // chromium, firefox, …
	Version  string `json:"version"`
	Software bool   `json:"software"` // the adapter was forced to be a software one
}

// Page is an open page of a browser.
type Page interface {
	// Gone gives the reason when the page crashed or its browser died.
	Gone() <-chan error
	About() About
	// PeakBytes is the most memory that the browser's processes held at once; 0 is unknown.
	PeakBytes() int64
	// Close closes the page, and the browser if it was the page's own.
	Close() error
}

// Browsers open pages. They are safe for concurrent use.
type Browsers interface {
	Open(ctx context.Context, w Where, url string) (Page, error)
}

// Files are what pages load: Page the page itself, Package the folder of an
// installed package.
type Files struct {
	Page    fs.FS
	Package func(name string) (dir string, ok bool)
	// Tuned is what was measured of a browser before, for its pages to use:
	// anything that marshals. Nil is nothing.
	Tuned func(About) (any, error)
}

// Host serves pages on the loopback interface, and by its Handler wherever else
// a server of the program's listens. Make it with Serve.
type Host struct {
	browsers Browsers
	files    Files
	address  string
	server   *http.Server

	mu     sync.Mutex
	visits map[string]*Visit
	open   map[string]*opened
}

// headerTimeout bounds how long a client may take to say what it wants.
const headerTimeout = 10 * time.Second

// Serve starts a host on a free port of 127.0.0.1. Nil browsers are for a host
// whose visits all say in which ones their pages are opened.
func Serve(browsers Browsers, files Files) (*Host, error) {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve pages on 127.0.0.1: %w", err)
	}
	h := &Host{
		browsers: browsers, files: files, address: "http://" + l.Addr().String(),
		visits: map[string]*Visit{}, open: map[string]*opened{},
	}
	h.server = &http.Server{Handler: h.routes(), ReadHeaderTimeout: headerTimeout}
	go func() { _ = h.server.Serve(l) }() // ends with Close
	return h, nil
}

// Close ends all visits and the server.
func (h *Host) Close() error {
	h.mu.Lock()
	visits := make([]*Visit, 0, len(h.visits))
	for _, v := range h.visits {
		visits = append(visits, v)
	}
	h.mu.Unlock()
	var err error
	for _, v := range visits {
		err = errors.Join(err, v.Close())
	}
	return errors.Join(err, h.server.Close())
}

// Visit begins a job's use of pages. A page is opened at once, so that it is
// ready when the job's child asks for it.
func (h *Host) Visit(ctx context.Context, w Where) *Visit {
	ctx, cancel := context.WithCancel(ctx)
	v := &Visit{host: h, where: w, token: rand.Text(), ctx: ctx, cancel: cancel}
	h.mu.Lock()
	h.visits[v.token] = v
	h.mu.Unlock()
	v.next = v.begin()
	return v
}

func (h *Host) visit(token string) (*Visit, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.visits[token]
	return v, ok
}

func (h *Host) page(token string) (*opened, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, ok := h.open[token]
	return p, ok
}

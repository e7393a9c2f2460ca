package dash

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/live"
	"assay/internal/platform"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// visits are the ways to pages of browsers that programs on this machine asked for:
// the Python interface runs models there. A program holds a page by a connection, and
// its page is given back when that is gone, because a program that was killed gives nothing back.
type visits struct {
	within time.Duration // a page that nobody holds is given back after it; 0 is holdWithin

	mu     sync.Mutex
	open   map[string]*visited // nil while it is being opened
	closed bool
}

// visited is a page that somebody may use.
type visited struct {
	leave func() error
	held  int         // connections
	alone *time.Timer // ends what nobody has held
	gone  chan struct{}
}

// holdWithin is how soon a page must be held.
const holdWithin = time.Minute

// reserve counts a visit in before it is opened; false where there are too many, or the server ends.
func (v *visits) reserve(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || len(v.open) >= mostVisits {
		return false
	}
	if v.open == nil {
		v.open = map[string]*visited{}
	}
	v.open[id] = nil
	return true
}

// settle notes how a visit is left, or with nil that there is none; false where the server has ended meanwhile.
func (v *visits) settle(id string, leave func() error) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if leave == nil || v.closed {
		delete(v.open, id)
		return leave == nil
	}
	alone := time.AfterFunc(cmp.Or(v.within, holdWithin), func() { _ = v.give(id) }) // nobody is there to hear of it
	v.open[id] = &visited{leave: leave, alone: alone, gone: make(chan struct{})}
	return true
}

// take removes a visit and gives what leaves it; nil where there is none.
func (v *visits) take(id string) func() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	x := v.open[id]
	if x == nil {
		return nil
	}
	x.alone.Stop()
	close(x.gone)
	delete(v.open, id)
	return x.leave
}

// give gives a page back, if it is there.
func (v *visits) give(id string) error {
	if leave := v.take(id); leave != nil {
		return leave()
	}
	return nil
}

// hold counts a connection in, which ends when the page is given back; nil where there is no such page.
func (v *visits) hold(id string) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	x := v.open[id]
	if x == nil {
		return nil
	}
	x.alone.Stop()
	x.held++
	return x.gone
}

// release counts it out, and gives the page back after the last one.
func (v *visits) release(id string) error {
	v.mu.Lock()
	x := v.open[id]
	if x != nil {
		x.held--
	}
	last := x != nil && x.held == 0
	v.mu.Unlock()
	if !last {
		return nil
	}
	return v.give(id)
}

// mostVisits is how many may be open: each is a page of a browser.
const mostVisits = 16

// VisitBody says where a page is wanted.
type VisitBody struct {
	Body struct {
		Target string `json:"target" minLength:"1" maxLength:"100" doc:"webgpu or webnn, with a browser after an @ if one is meant" example:"webgpu"`
	}
	local bool
}

// Resolve notes whether the asker is on this machine.
func (v *VisitBody) Resolve(ctx huma.Context) []error {
	host, _, err := net.SplitHostPort(ctx.RemoteAddr())
	a, bad := netip.ParseAddr(host)
	v.local = err == nil && bad == nil && a.Unmap().IsLoopback()
	return nil
}

// Visited is the way to a page.
type Visited struct {
	Schema  int    `json:"schema"`
	ID      string `json:"id"`
	Address string `json:"address"` // on this machine's loopback interface
}

func (s *Server) visit(ctx context.Context, in *VisitBody) (*Visited, error) {
	if !in.local {
		return nil, huma.Error403Forbidden("pages are opened for programs on the same machine only")
	}
	t, err := platform.ParseTarget(in.Body.Target)
	if err != nil {
		return nil, &WrongError{err}
	}
	if !t.Normal().Engine.Traits().Pages {
		return nil, &WrongError{errors.New(in.Body.Target + " does not run in a browser")}
	}
	id := rand.Text()
	if !s.visits.reserve(id) {
		return nil, huma.ErrorWithHeaders(huma.Error429TooManyRequests("too many pages are open already"), http.Header{"Retry-After": {"10"}})
	}
	address, leave, err := s.o.Lab.Visit(ctx, t)
	if err != nil {
		s.visits.settle(id, nil)
		return nil, err
	}
	if gone := ctx.Err() != nil; gone || !s.visits.settle(id, leave) { // nobody would give it back
		s.visits.settle(id, nil)
		return nil, errors.Join(live.ErrClosed, leave())
	}
	return &Visited{cell.Schema, id, address}, nil
}

// Left is a page that was given back.
type Left struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"`
}

// VisitPath names a page.
type VisitPath struct {
	ID string `path:"id" maxLength:"100"`
}

func (s *Server) leave(_ context.Context, in *VisitPath) (*Left, error) {
	leave := s.visits.take(in.ID)
	if leave == nil {
		return nil, noPage(in.ID)
	}
	return &Left{cell.Schema, in.ID}, leave()
}

func noPage(id string) error { return huma.Error404NotFound("there is no page " + id) }

// holding registers the connection by which a program holds its page: it stays open, and when it ends the page is given back.
func (s *Server) holding(o operation) {
	huma.Register(s.api, o.huma(s.api, nil, eventsKind), func(_ context.Context, in *VisitPath) (*streamed, error) {
		gone := s.visits.hold(in.ID)
		if gone == nil {
			return nil, noPage(in.ID)
		}
		return &streamed{Body: func(ctx huma.Context) {
			defer func() { _ = s.visits.release(in.ID) }() // who held it is gone
			r, w := humago.Unwrap(ctx)
			s.alive(r.Context(), w, gone)
		}}, nil
	})
}

// alive sends a sign of life now and then, until the other side is gone, the page is, or the server ends.
func (s *Server) alive(ctx context.Context, w http.ResponseWriter, gone <-chan struct{}) {
	w.Header().Set("Content-Type", eventsKind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		if _, err := w.Write([]byte(": still here\n\n")); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-gone:
			return
		case <-s.context.Done():
			return
		case <-tick.C:
		}
	}
}

// close gives all pages back.
func (v *visits) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var failed []error
	for _, x := range v.open {
		if x != nil {
			x.alone.Stop()
			failed = append(failed, x.leave())
		}
	}
	v.open, v.closed = nil, true
	return errors.Join(failed...)
}

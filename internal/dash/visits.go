package dash

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"assay/internal/cell"
	"assay/internal/live"
	"assay/internal/platform"

	"github.com/danielgtaylor/huma/v2"
)

// visits are the ways to pages of browsers that programs on this machine asked for:
// the Python interface runs models there.
type visits struct {
	mu     sync.Mutex
	open   map[string]func() error // nil while it is being opened
	closed bool
}

// reserve counts a visit in before it is opened; false where there are too many, or the server ends.
func (v *visits) reserve(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || len(v.open) >= mostVisits {
		return false
	}
	if v.open == nil {
		v.open = map[string]func() error{}
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
	v.open[id] = leave
	return true
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

func (s *Server) leave(_ context.Context, in *struct {
	ID string `path:"id" maxLength:"100"`
}) (*Left, error) {
	s.visits.mu.Lock()
	leave := s.visits.open[in.ID]
	if leave != nil {
		delete(s.visits.open, in.ID)
	}
	s.visits.mu.Unlock()
	if leave == nil {
		return nil, huma.Error404NotFound("there is no page " + in.ID)
	}
	return &Left{cell.Schema, in.ID}, leave()
}

// close gives all pages back.
func (v *visits) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var failed []error
	for _, leave := range v.open {
		if leave != nil {
			failed = append(failed, leave())
		}
	}
	v.open, v.closed = nil, true
	return errors.Join(failed...)
}

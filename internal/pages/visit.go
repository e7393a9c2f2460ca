package pages

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Visit is one job's permission to use pages, one after the other.
type Visit struct {
	host   *Host
	where  Where
	token  string
	ctx    context.Context //nolint:containedctx // the visit's life, ended by Close
	cancel context.CancelFunc

	mu   sync.Mutex // one call at a time
	next *opening   // begun ahead of need
	page *opened
}

// Address is what the job's child is told.
func (v *Visit) Address() string { return v.host.address + "/visits/" + v.token }

// Close ends the visit and its pages.
func (v *Visit) Close() error {
	v.host.mu.Lock()
	delete(v.host.visits, v.token)
	v.host.mu.Unlock()
	v.cancel()
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.page.close()
	if v.next != nil {
		<-v.next.done
		err = errors.Join(err, v.next.page.close())
	}
	v.page, v.next = nil, nil
	return err
}

// opening is a page on its way.
type opening struct {
	done chan struct{} // closed when page or err is there
	page *opened
	err  error
}

// begin starts to open a page.
func (v *Visit) begin() *opening {
	o := &opening{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.page, o.err = v.host.opened(v.ctx, v.where)
	}()
	return o
}

// fresh gives the visit a new page, in place of the one it had.
func (v *Visit) fresh(ctx context.Context) (*opened, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.page.close() // one that does not close is its browser's matter, and costs the next one nothing
	v.page = nil
	o := v.next
	if o == nil {
		o = v.begin()
	}
	v.next = nil
	select {
	case <-o.done:
	case <-ctx.Done(): // the child is gone: so will be the visit, soon
		v.next = o
		return nil, context.Cause(ctx)
	}
	v.page = o.page
	return o.page, o.err
}

// errNoPage is for a child that calls before it asked for a page.
var errNoPage = errors.New("the visit has no page: ask for one first")

// call sends a frame to the visit's page and returns the page's answer. A page
// that fails to answer is closed.
func (v *Visit) call(ctx context.Context, frame []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.page == nil {
		return nil, errNoPage
	}
	frame, o, err := readdressed(frame, v.page.serve)
	if err != nil {
		return nil, err
	}
	limit := o.limit()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := v.page.call(ctx, frame)
	if err == nil {
		return answer, nil
	}
	gone := v.page.why(err)
	_ = v.page.close()
	v.page = nil
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, &TimeoutError{o.Op, limit}
	}
	return nil, gone
}

// TimeoutError says that a page did not answer in time.
type TimeoutError struct {
	Op    string
	Limit time.Duration
}

// Error names the call and its limit.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the page did not answer the call %q within %s", e.Op, e.Limit)
}

// GoneError says that a page, or its whole browser, ended by itself.
type GoneError struct{ Err error }

// Error gives the reason.
func (e *GoneError) Error() string { return fmt.Sprintf("the page is gone: %v", e.Err) }

// Unwrap returns the reason.
func (e *GoneError) Unwrap() error { return e.Err }

// opened is a page that connected.
type opened struct {
	host  *Host
	token string
	page  Page

	ready chan struct{} // closed once hello and socket are there
	ended chan struct{} // closed by close

	mu     sync.Mutex
	closed bool
	hello  json.RawMessage
	socket *websocket.Conn
	served []string // paths of files, by number
}

// connectLimit is how long an opened page may take to connect.
const connectLimit = 30 * time.Second

// opened opens a page and waits until it has connected.
func (h *Host) opened(ctx context.Context, w Where) (*opened, error) {
	p := &opened{host: h, token: rand.Text(), ready: make(chan struct{}), ended: make(chan struct{})}
	h.mu.Lock()
	h.open[p.token] = p
	h.mu.Unlock()
	browsers := w.In
	if browsers == nil {
		browsers = h.browsers
	}
	page, err := browsers.Open(ctx, w, h.address+"/pages/"+p.token+"/")
	if err != nil {
		h.forget(p.token)
		return nil, err
	}
	p.page = page
	limit := time.NewTimer(connectLimit)
	defer limit.Stop()
	select {
	case <-p.ready:
		return p, nil
	case err = <-page.Gone():
		err = &GoneError{err}
	case <-limit.C:
		err = &TimeoutError{"connect", connectLimit}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return nil, errors.Join(err, p.close())
}

func (h *Host) forget(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, token)
}

// close closes the page and its socket; nil and closed ones are closed already.
func (p *opened) close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	socket := p.socket
	p.mu.Unlock()
	p.host.forget(p.token)
	close(p.ended)
	if socket != nil {
		_ = socket.CloseNow()
	}
	if p.page == nil {
		return nil
	}
	return p.page.Close()
}

// connected takes the page's socket and what it said first. It reports false
// for a second page with the same secret.
func (p *opened) connected(socket *websocket.Conn, hello json.RawMessage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.socket != nil {
		return false
	}
	p.socket, p.hello = socket, hello
	close(p.ready)
	return true
}

// serve lets the page load a file, and returns its address.
func (p *opened) serve(name, path string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = append(p.served, path)
	return "/pages/" + p.token + "/files/" + strconv.Itoa(len(p.served)-1) + "/" + url.PathEscape(name)
}

// file is the path of a served file.
func (p *opened) file(number string) (string, bool) {
	n, err := strconv.Atoi(number)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || n < 0 || n >= len(p.served) {
		return "", false
	}
	return p.served[n], true
}

// call sends a frame and waits for the answer.
func (p *opened) call(ctx context.Context, frame []byte) ([]byte, error) {
	if err := p.socket.Write(ctx, websocket.MessageBinary, frame); err != nil {
		return nil, err
	}
	_, answer, err := p.socket.Read(ctx)
	return answer, err
}

// goneGrace is how long a browser may take to say why a page is gone.
const goneGrace = 300 * time.Millisecond

// why is the reason of a failed call: the browser's own, where it gives one.
func (p *opened) why(err error) error {
	select {
	case reason := <-p.page.Gone():
		return &GoneError{reason}
	case <-time.After(goneGrace):
		return &GoneError{err}
	}
}

// Package weblab serves a page for people: someone opens it in their own
// browser, even on a phone, chooses models and platforms, and the cells run in
// that browser. So an iPhone's or an Android's GPU is measured with nothing
// installed there.
//
//	phone: lab page ── WebSocket ──► Lab ── plan ──► Record (session, lab, journal)
//	         └ iframe: runner page ◄── pages.Host ◄──────── the runner's child
//
// A Guest is one open lab page. It says what it is (about.go), lets a small
// page ask its browser what it can do, and is offered what may be chosen
// (offer.go); both become a detection report like that of any machine, whose
// host is the guest's and never this one. When the user presses Run the choice
// becomes a plan (run.go), which runs as everywhere: only the engine is in the
// guest's browser, and a guest implements pages.Browsers by having its page
// open the runner page in a fresh frame (frames.go). Results reach the journal
// only through that relay; nothing that a guest sends is itself a result.
//
// The address holds a secret, and every frame another one; without them the
// answer is 403, as it is for other sites and under names that are not this
// machine's (foreign.go). Browsers allow WebGPU and WebNN only on secure pages, so
// on any interface but the loopback one the server uses TLS, with the user's
// certificate or one of its own (certificate.go).
package weblab

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/pages"
	"assay/internal/progress"
	"assay/internal/session"
)

// Record runs a plan in a guest's browser and journals it. It returns
// when the plan is done, or soon after ctx has ended.
type Record func(ctx context.Context, plan cell.Plan, g session.Guest, on progress.Listener) error

// Options are set once.
type Options struct {
	// Listener is where guests come in: see Listen. The lab closes it.
	Listener net.Listener
	// Certificate is the user's own; without one the lab makes one where it
	// needs one, away from the loopback interface.
	Certificate *tls.Certificate
	// Models may be chosen; they are cells without a target.
	Models []cell.Cell
	// Files are the lab page's own: lab.html and what it loads.
	Files fs.FS
	// Pages serves the runner page, and Engine is what runs there: the version
	// of ONNX Runtime Web.
	Pages  *pages.Host
	Engine string
	Record Record
	// Lend has guests choose nothing: their browsers work for others as long as their pages are open.
	// It hears of each who comes, and what it returns is called when that one has gone. Nil lets them choose.
	Lend func(*Lent) (gone func())
	// To says on the page for whom they work, where they do, and As what they are called there: As-1, As-2 and so on.
	To, As string
	// Rest answers every address that is none of the lab's; nil refuses them.
	Rest http.Handler
	// Say hears of guests, in a line for people, of which nothing steers a terminal.
	Say func(string)
}

// Lab is the server. Make it with Serve.
type Lab struct {
	o       Options
	secret  string
	server  *http.Server
	found   net.Addr
	secure  *tls.Certificate // nil without TLS: on the loopback interface
	context context.Context  //nolint:containedctx // the life of the guests' work, ended by Close
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	guests  map[string]*guest // by token
	numbers map[int]bool      // of those who work for others
	work    sync.WaitGroup
}

// headerTimeout bounds how long a client may take to say what it wants.
const headerTimeout = 10 * time.Second

// Serve starts a lab. It goes on until Close.
func Serve(o Options) (*Lab, error) {
	o.Say = plainly(o.Say)
	listener := o.Listener
	l := &Lab{o: o, secret: rand.Text(), found: listener.Addr(), guests: map[string]*guest{}, numbers: map[int]bool{}}
	l.context, l.cancel = context.WithCancelCause(context.Background())
	l.server = &http.Server{ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(complaints(o.Say), slog.LevelError)}
	if o.Certificate != nil || !l.alone() {
		secure, err := l.overTLS(listener)
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		listener = secure
	}
	l.server.Handler = l.routes()                // which go by the certificate's names too
	go func() { _ = l.server.Serve(listener) }() // ends with Close
	return l, nil
}

func (l *Lab) overTLS(plain net.Listener) (net.Listener, error) {
	l.secure = l.o.Certificate
	if l.secure == nil {
		made, err := NewCertificate(time.Now())
		if err != nil {
			return nil, err
		}
		l.secure = &made
	}
	return tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{*l.secure}, MinVersion: tls.VersionTLS12}), nil
}

var errClosed = errors.New("assay was stopped")

// Close ends the server and the guests' work, and waits for it.
func (l *Lab) Close() error {
	l.mu.Lock()
	l.cancel(errClosed)
	l.mu.Unlock()
	err := l.server.Close()
	l.work.Wait()
	return err
}

// enter counts a guest in whom Close waits for; once the lab is closed nobody
// comes in, since a count must not rise while it is waited for. Who
// came in says work.Done when leaving.
func (l *Lab) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.context.Err() != nil {
		return false
	}
	l.work.Add(1)
	return true
}

func (l *Lab) guest(token string) (*guest, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok := l.guests[token]
	return g, ok
}

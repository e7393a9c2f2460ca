// Package weblab serves a page for people: somebody opens it in a browser of
// their own, on a phone too, chooses models and platforms, and the cells run in
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
// becomes a plan (run.go), carried out as everywhere: only the engine is in the
// guest's browser, and a guest implements pages.Browsers by having its page
// open the runner page in a fresh frame (frames.go). Results reach the journal
// through that relay alone; nothing that a guest sends is a result by itself.
//
// The address holds a secret, and every frame another one; without them the
// answer is 403. Browsers give WebGPU and WebNN to secure pages only, so that
// on any interface but the loopback one the server speaks TLS, with the user's
// certificate or one of its own (certificate.go).
package weblab

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/pages"
	"assay/internal/session"
)

// Record carries a plan out in a guest's browser and journals it. It returns
// when the plan is done, or soon after ctx has ended.
type Record func(ctx context.Context, plan cell.Plan, g session.Guest, w session.Watcher) error

// Options are set once.
type Options struct {
	// Address is where to listen: host:port. Port 0 is a free one.
	Address string
	// Certificate is used away from the loopback interface; nil makes one.
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
	// Say hears of guests, in a line for people.
	Say func(string)
}

// Lab is the server. Make it with Serve.
type Lab struct {
	o       Options
	secret  string
	server  *http.Server
	found   net.Addr
	secure  *tls.Certificate // nil on the loopback interface
	context context.Context  //nolint:containedctx // the life of the guests' work, ended by Close
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	guests map[string]*guest // by token
	work   sync.WaitGroup
}

// headerTimeout bounds how long a client may take to say what it wants.
const headerTimeout = 10 * time.Second

// Serve starts a lab. It goes on until Close; ctx is for the start alone.
func Serve(ctx context.Context, o Options) (*Lab, error) {
	host, err := hostOf(o.Address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.Address, err)
	}
	l := &Lab{o: o, secret: rand.Text(), found: listener.Addr(), guests: map[string]*guest{}}
	l.context, l.cancel = context.WithCancelCause(context.Background())
	l.server = &http.Server{Handler: l.routes(), ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(complaints(o.Say), slog.LevelError)}
	if !loopback(host) {
		if listener, err = l.overTLS(listener); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	go func() { _ = l.server.Serve(listener) }() // ends with Close
	return l, nil
}

func (l *Lab) overTLS(plain net.Listener) (net.Listener, error) {
	l.secure = l.o.Certificate
	if l.secure == nil {
		made, err := NewCertificate(time.Now())
		if err != nil {
			return plain, err
		}
		l.secure = &made
	}
	return tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{*l.secure}, MinVersion: tls.VersionTLS12}), nil
}

var errClosed = errors.New("assay was stopped")

// Close ends the server and the guests' work, and waits for it.
func (l *Lab) Close() error {
	l.cancel(errClosed)
	err := l.server.Close()
	l.work.Wait()
	return err
}

func (l *Lab) guest(token string) (*guest, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok := l.guests[token]
	return g, ok
}

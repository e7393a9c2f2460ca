package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"assay/internal/cell"
	"assay/internal/fleet"
	fleetworker "assay/internal/fleet/worker"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/session"
	"assay/internal/weblab"
	webpage "assay/runtimes/web/lab"
)

// lodge runs cells in the browsers of those who have opened the worker's web lab: what they have is what the worker offers.
type lodge struct {
	*session.Session
	always  []fleet.Offer // offered whoever is there
	offer   func([]fleet.Offer)
	say     func(string)
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a guest comes, goes or is free again
	guests  []*lodger
}

// lodger is a guest with what its browser has.
type lodger struct {
	*weblab.Lent
	name   string
	offers []fleet.Offer
	busy   bool
}

func newLodge(s *session.Session, always []fleet.Offer, say func(string)) *lodge {
	return &lodge{Session: s, always: always, say: say, changed: make(chan struct{}), offer: func([]fleet.Offer) {}}
}

// serve opens the web lab; what it returns ends it.
func (l *lodge) serve(ctx context.Context, f *joinFlags, worker string, stderr io.Writer) (*weblab.Lab, error) {
	own, err := f.certificate()
	if err != nil {
		return nil, err
	}
	listener, err := weblab.Listen(ctx, f.webLab)
	if err != nil {
		return nil, usageError{fmt.Errorf("--web-lab: %w", err)}
	}
	lab, err := weblab.LendSession(ctx, l.Session, weblab.Options{
		Listener: listener, Certificate: own, Files: webpage.Files(), Say: l.say, To: "worker " + worker, As: worker, Lend: l.welcome,
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	urls := lab.URLs()
	if len(urls) == 0 {
		return nil, errors.Join(errors.New("this machine has no address that another one could reach"), lab.Close())
	}
	for _, u := range urls {
		l.say("browsers that open this page work for the fleet: " + u)
	}
	if fingerprint, made := lab.Secure(); made {
		l.say("they will warn of a certificate that Assay has just made; its fingerprint (SHA-256) is " + fingerprint)
	}
	if f, ok := stderr.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			l.say(weblab.QR(urls[0]))
		}
	}
	return lab, nil
}

// certificate is the user's own, if one was named.
func (f *joinFlags) certificate() (*tls.Certificate, error) {
	if f.cert == "" && f.certKey == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(f.cert, f.certKey)
	if err != nil {
		return nil, usageError{fmt.Errorf("--cert, --cert-key: %w", err)}
	}
	return &c, nil
}

// welcome has a guest's browser work, until what it returns is called.
func (l *lodge) welcome(who *weblab.Lent) (gone func()) {
	has, err := l.GuestTargets(context.Background(), who.Guest())
	if err != nil {
		l.say("what a guest has cannot be told: " + err.Error())
	}
	g := &lodger{Lent: who, name: who.Name(), offers: offersOf(has)}
	for i := range g.offers {
		g.offers[i].Guest = g.name
	}
	l.say(fmt.Sprintf("%s is %s", g.name, who.Words()))
	l.change(func() { l.guests = append(l.guests, g) })
	return func() {
		l.change(func() { l.guests = slices.DeleteFunc(l.guests, func(x *lodger) bool { return x == g }) })
	}
}

// offersOf is what targets are to a fleet.
func offersOf(has []session.Has) []fleet.Offer {
	var out []fleet.Offer
	for _, h := range has {
		if h.Target.Engine != platform.Noop {
			out = append(out, fleet.Offer{Target: h.Target, Name: h.Name, MemoryBytes: h.Presence.MemoryBytes, Software: h.Presence.Software, DTypes: h.Presence.DTypes})
		}
	}
	return out
}

// change changes who is there, and tells the fleet.
func (l *lodge) change(how func()) {
	l.mu.Lock()
	how()
	offers := slices.Clone(l.always)
	for _, g := range l.guests {
		offers = append(offers, g.offers...)
	}
	close(l.changed)
	l.changed = make(chan struct{})
	offer := l.offer
	l.mu.Unlock()
	offer(offers)
}

// tell has offers go to the fleet from now on.
func (l *lodge) tell(offer func([]fleet.Offer)) {
	l.mu.Lock()
	l.offer = offer
	l.mu.Unlock()
	l.change(func() {})
}

// CarryAt runs a plan in a guest's browser, which its results are from; what needs no browser runs here.
func (l *lodge) CarryAt(ctx context.Context, plan cell.Plan, guest string, on progress.Listener) (*cell.Host, error) {
	if !slices.ContainsFunc(plan.Cells, func(c cell.Cell) bool { return c.Engine.Traits().Pages }) {
		return nil, l.Carry(ctx, plan, on)
	}
	g, err := l.take(ctx, plan.Cells[0].Where().Normal(), guest)
	if err != nil {
		return nil, err
	}
	defer l.free(g)
	host := g.Host()
	err = g.Run(ctx, on, func(ctx context.Context, on progress.Listener) error {
		return l.CarryGuest(ctx, plan, g.Guest(), on)
	})
	if errors.Is(err, weblab.ErrLeft) {
		return nil, fmt.Errorf("%w: %w (%s)", fleetworker.ErrAway, err, g.Words())
	}
	return &host, err
}

// able are the guests that may run a cell: those that have its target or, where none has, those in which it may fall back; of
// a guest that was named that one alone. The caller holds the lock.
func (l *lodge) able(t platform.Target, guest string) []*lodger {
	named := slices.DeleteFunc(slices.Clone(l.guests), func(g *lodger) bool { return guest != "" && g.name != guest })
	able := slices.DeleteFunc(slices.Clone(named), func(g *lodger) bool {
		return !slices.ContainsFunc(g.offers, func(o fleet.Offer) bool { return o.Is(t) })
	})
	if len(able) == 0 {
		return named
	}
	return able
}

// take waits until one of the guests that may run a cell has nothing to do.
func (l *lodge) take(ctx context.Context, t platform.Target, guest string) (*lodger, error) {
	for {
		l.mu.Lock()
		able := l.able(t, guest)
		if len(able) == 0 {
			l.mu.Unlock()
			return nil, fmt.Errorf("%w: no guest's browser is there", fleetworker.ErrAway)
		}
		for _, g := range able {
			if !g.busy {
				g.busy = true
				l.mu.Unlock()
				return g, nil
			}
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-changed:
		}
	}
}

// free has a guest run the next plan.
func (l *lodge) free(g *lodger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.busy = false
	close(l.changed)
	l.changed = make(chan struct{})
}

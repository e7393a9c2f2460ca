package weblab

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/cell"
	"assay/internal/progress"
	"assay/internal/session"
)

// ErrLeft says that a guest's page is gone, or goes.
var ErrLeft = errors.New("the guest's page was closed, or lost its connection")

// Lent is a guest's browser that works for others as long as its page is open.
type Lent struct {
	guest  *guest
	number int // among those who are there
}

// Name tells the guest from others that have the same browser.
func (l *Lent) Name() string { return fmt.Sprintf("%s-%d", l.guest.lab.o.As, l.number) }

// lend has others use the guest's browser until its page is gone.
func (g *guest) lend(ctx context.Context) error {
	o := g.offer()
	var has []string
	for _, t := range o.Targets {
		if t.Present {
			has = append(has, t.Target)
		}
	}
	l := &Lent{g, g.lab.count()}
	defer g.lab.uncount(l.number)
	if err := g.say(lent{"lent", o.Machine, o.Browser, fmt.Sprintf("%s as %s", g.lab.o.To, l.Name()), has}); err != nil {
		return err
	}
	defer g.lab.o.Lend(l)()
	for {
		var s said
		if err := g.hear(ctx, &s); err != nil {
			return err
		}
		_ = g.say(refusal{"refused", "this browser works for others: there is nothing to choose here"}) // a page that is gone is noticed by hear
	}
}

// count gives a guest the least number that nobody has.
func (l *Lab) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 1
	for l.numbers[n] {
		n++
	}
	l.numbers[n] = true
	return n
}

func (l *Lab) uncount(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.numbers, n)
}

// Guest is the machine, and the way to its browser.
func (l *Lent) Guest() session.Guest {
	kind, _ := l.guest.about.browser()
	return session.Guest{Report: l.guest.report, Told: l.guest.about, Browser: kind, Browsers: l.guest}
}

// Host is the guest's machine, as its browser told.
func (l *Lent) Host() cell.Host { return l.guest.report.Host }

// Words say what it is.
func (l *Lent) Words() string { return plain(describe(l.guest.report.Host)) }

// Run has a run go on in the guest's browser and shows it on the page. One goes on at a time. When the page is gone meanwhile
// the run is ended, and the error is ErrLeft.
func (l *Lent) Run(ctx context.Context, on progress.Listener, run func(context.Context, progress.Listener) error) error {
	g := l.guest
	if !g.lab.enter() {
		return ErrLeft
	}
	defer g.lab.work.Done()
	visit, err := g.begin()
	if err != nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(visit, func() { cancel(context.Cause(visit)) })()
	err = run(running, progress.Func(func(e progress.Event) error {
		_ = telling{g}.Hear(e)
		return on.Hear(e)
	}))
	left := context.Cause(visit)
	g.end(running, err)
	if left != nil {
		return ErrLeft
	}
	return err
}

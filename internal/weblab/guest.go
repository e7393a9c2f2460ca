package weblab

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"assay/internal/detect"
	"assay/internal/pages"

	"github.com/coder/websocket"
)

// guest is one open lab page.
type guest struct {
	lab    *Lab
	token  string
	socket *websocket.Conn
	about  About
	report detect.Report
	probed chan detect.BrowserAnswer

	mu     sync.Mutex
	frames map[string]*frame
	cancel context.CancelCauseFunc // of the run under way; nil without one
	lost   error                   // why the page is gone
}

var _ pages.Browsers = (*guest)(nil)

const (
	mostSaid   = 1 << 20          // bytes that a page may say at once
	writeLimit = 10 * time.Second // for a page to take a message
	pingEvery  = 15 * time.Second // networks drop connections that nobody uses
	pingLimit  = time.Minute      // phones sleep, and leave the network
	// probeLimit is how long a browser may take to say what it can do: five
	// things are asked, each with ten seconds in the page itself.
	probeLimit = 60 * time.Second
)

// welcome is a guest's whole visit: it lasts as long as its socket does.
func (l *Lab) welcome(w http.ResponseWriter, r *http.Request) {
	if !l.enter() {
		http.Error(w, errClosed.Error(), http.StatusServiceUnavailable)
		return
	}
	defer l.work.Done()
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	c.SetReadLimit(mostSaid)
	g := &guest{lab: l, token: rand.Text(), socket: c, probed: make(chan detect.BrowserAnswer, 1), frames: map[string]*frame{}}
	l.mu.Lock()
	l.guests[g.token] = g
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(l.context, func() { _ = c.Close(websocket.StatusGoingAway, errClosed.Error()) })
	defer stop()
	_ = g.visit(ctx) // it ends with the socket, whoever closed it
	g.leave()
}

// visit hears the guest out until its page is gone, and returns why.
func (g *guest) visit(ctx context.Context) error {
	var hello said
	if err := g.hear(ctx, &hello); err != nil {
		return err
	}
	if hello.Kind != "hello" {
		return g.say(refusal{"refused", "the page must first say what it is: reload it"})
	}
	g.about = hello.About
	go g.keep(ctx)
	if err := g.probe(ctx); err != nil {
		return errors.Join(err, g.say(refusal{"refused", err.Error()}))
	}
	g.lab.o.Say("a guest: " + describe(g.report.Host) + ", " + g.offer().Browser)
	if g.lab.o.Lend != nil {
		return g.lend(ctx)
	}
	if err := g.say(g.offer()); err != nil {
		return err
	}
	for {
		var s said
		if err := g.hear(ctx, &s); err != nil {
			return err
		}
		g.do(s)
	}
}

// do carries out what the page asks for.
func (g *guest) do(s said) {
	switch s.Kind {
	case "run":
		g.run(s)
	case "stop":
		g.stop(errStopped)
	default:
		_ = g.say(refusal{"refused", fmt.Sprintf("unknown action %q", s.Kind)}) // a page that is gone is noticed by hear
	}
}

// probe has the guest's page open a small one that asks its browser what it can
// do, in the same words in which this machine's browsers are asked.
func (g *guest) probe(ctx context.Context) error {
	if err := g.say(ask{"ask", "/lab/" + g.lab.secret + "/probe/" + g.token + "/"}); err != nil {
		return err
	}
	var answer detect.BrowserAnswer
	select {
	case answer = <-g.probed:
	case <-time.After(probeLimit):
		return fmt.Errorf("the browser did not say within %v what it can do: reload the page, or try another browser", probeLimit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var err error
	g.report, err = g.about.report(answer, g.lab.o.Engine)
	return err
}

// hear waits for the next thing that the page says.
func (g *guest) hear(ctx context.Context, s *said) error {
	_, text, err := g.socket.Read(ctx)
	if err != nil {
		return err
	}
	return hearing(text, s)
}

// say tells the page something.
func (g *guest) say(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	return g.socket.Write(ctx, websocket.MessageText, text)
}

// keep makes sure now and then that the page is still there.
func (g *guest) keep(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !g.answers(ctx) {
				_ = g.socket.CloseNow() // which hear notices
				return
			}
		}
	}
}

// answers reports whether the browser answers at all. It does so by itself,
// also while its page computes.
func (g *guest) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	return g.socket.Ping(ctx) == nil
}

// leave ends what the guest had under way.
func (g *guest) leave() {
	g.lab.mu.Lock()
	delete(g.lab.guests, g.token)
	g.lab.mu.Unlock()
	g.mu.Lock()
	g.lost = ErrLeft
	for _, f := range g.frames {
		f.gone <- ErrLeft
	}
	clear(g.frames)
	g.mu.Unlock()
	g.stop(ErrLeft)
	_ = g.socket.Close(websocket.StatusNormalClosure, "") // most are closed already
	if g.report.Host.ID != "" {
		g.lab.o.Say("a guest left: " + describe(g.report.Host))
	}
}

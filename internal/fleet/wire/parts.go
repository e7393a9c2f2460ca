package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/internal/fleet"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// What is larger than a message travels in parts, one message each, in order. The coordinator
// puts a request together in its memory, under the name of whoever the server let publish it, so
// that nobody can read, change or complete another's. Nothing is stored on the way.

// part is the header of a part: the id of the whole, the part's number from 0, and how many there are.
const part = "Assay-Part"

// mostInline is how many bytes travel in a message, where the server does not
// allow less.
const mostInline = 900 << 10

// limits are what the coordinator keeps of requests that have not arrived whole.
type limits struct {
	each int           // bytes of one sender
	all  int           // bytes of all senders
	keep time.Duration // how long the next part may take
}

var defaults = limits{each: fleet.MostAnswer + 1<<20, all: 8 * fleet.MostAnswer, keep: time.Minute}

// split is a value as messages of a subject: one, or as many as it takes.
func split(subject string, v any, limit int) ([]*nats.Msg, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) <= limit {
		m := nats.NewMsg(subject)
		m.Data = body
		return []*nats.Msg{m}, nil
	}
	id, n := nuid.Next(), (len(body)+limit-1)/limit
	out := make([]*nats.Msg, n)
	for i := range out {
		out[i] = nats.NewMsg(subject)
		out[i].Data = body[i*limit : min(len(body), (i+1)*limit)]
		out[i].Header.Set(part, fmt.Sprintf("%s %d %d", id, i, n))
	}
	return out, nil
}

// exchange sends messages, of which the last is answered, and returns the answer's body.
func exchange(ctx context.Context, nc *nats.Conn, messages []*nats.Msg) ([]byte, error) {
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	made := nc.Stats().Reconnects
	for _, m := range messages {
		m.Reply = inbox
		if err := nc.PublishMsg(m); err != nil {
			return nil, err
		}
	}
	whole := newParts(limits{each: 1 << 30, all: 1 << 30, keep: time.Minute})
	defer whole.close()
	for {
		m, err := next(ctx, nc, sub, made)
		if err != nil {
			return nil, err
		}
		if err := refusal(m); err != nil {
			return nil, err
		}
		if body, done, err := whole.add("", m); done || err != nil {
			return body, err
		}
	}
}

// glance is how often a request that waits looks at its connection.
const glance = 500 * time.Millisecond

// next waits for a message. What was asked over a connection that was made again meanwhile may never have arrived, and is
// not waited for.
func next(ctx context.Context, nc *nats.Conn, sub *nats.Subscription, made uint64) (*nats.Msg, error) {
	for {
		step, cancel := context.WithTimeout(ctx, glance)
		m, err := sub.NextMsgWithContext(step)
		cancel()
		switch {
		case err == nil, ctx.Err() != nil, !errors.Is(err, context.DeadlineExceeded):
			return m, err
		case nc.Stats().Reconnects != made:
			return nil, errLater{"the connection to the coordinator was lost meanwhile: ask again"}
		}
	}
}

// refusal is what a message says against a request; nil where it is an answer.
func refusal(m *nats.Msg) error {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return nats.ErrNoResponders
	}
	if why := m.Header.Get(failed); why != "" {
		return &RefusedError{why}
	}
	if why := m.Header.Get(later); why != "" {
		return errors.New(why)
	}
	return nil
}

// errLater is a refusal that may not stand when the request is made again.
type errLater struct{ why string }

func (e errLater) Error() string { return e.why }

// parts are what has arrived of messages that are not whole.
type parts struct {
	limits limits

	mu     sync.Mutex
	wholes map[string]*whole // by sender and id
	by     map[string]int    // bytes by sender
	all    int
}

type whole struct {
	from  string
	body  []byte
	next  int // the number of the next part
	of    int
	timer *time.Timer
}

func newParts(l limits) *parts {
	return &parts{limits: l, wholes: map[string]*whole{}, by: map[string]int{}}
}

// add takes a message in and returns the whole that it completes.
func (p *parts) add(from string, m *nats.Msg) (body []byte, done bool, err error) {
	header := m.Header.Get(part)
	if header == "" {
		return m.Data, true, nil
	}
	var id string
	var n, of int
	if _, err := fmt.Sscanf(header, "%s %d %d", &id, &n, &of); err != nil || n < 0 || n >= of {
		return nil, false, fmt.Errorf("%q does not number a part of a message", header)
	}
	key := from + " " + id
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.wholes[key]
	switch {
	case w == nil && n == 0:
		w = &whole{from: from, of: of}
		w.timer = time.AfterFunc(p.limits.keep, func() { p.expire(key, w) })
		p.wholes[key] = w
	case w == nil || n != w.next || of != w.of:
		p.drop(key)
		if n < of-1 {
			return nil, false, nil // the last part hears of it
		}
		return nil, false, errLater{"a part of the message is missing: send it again"}
	}
	w.timer.Reset(p.limits.keep)
	size := len(m.Data)
	switch {
	case p.by[from]+size > p.limits.each:
		p.drop(key)
		if p.by[from] > 0 {
			return nil, false, errLater{"other large messages of the same key are on their way: send it again"}
		}
		return nil, false, fmt.Errorf("a message may have %d MiB at most", p.limits.each>>20)
	case p.all+size > p.limits.all:
		p.drop(key)
		return nil, false, errLater{"too many large messages are on their way at once: send it again"}
	}
	w.body, w.next = append(w.body, m.Data...), n+1
	p.by[from] += size
	p.all += size
	if w.next < of {
		return nil, false, nil
	}
	body = w.body
	p.drop(key)
	return body, true, nil
}

// drop forgets a message; the caller holds the lock.
func (p *parts) drop(key string) {
	w := p.wholes[key]
	if w == nil {
		return
	}
	w.timer.Stop()
	delete(p.wholes, key)
	p.all -= len(w.body)
	if p.by[w.from] -= len(w.body); p.by[w.from] <= 0 {
		delete(p.by, w.from)
	}
}

func (p *parts) expire(key string, w *whole) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wholes[key] == w {
		p.drop(key)
	}
}

// close forgets everything.
func (p *parts) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.wholes {
		p.drop(key)
	}
}

// sender is who may publish to a subject: a desk's or an office's ends in a name.
func sender(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

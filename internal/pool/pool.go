// Package pool keeps models loaded and runs requests on them, within limits that
// are never passed: memory of the host and of each device, requests in flight, and
// requests that wait.
//
// A Request names a model in the words of the Python interface. A Loader says what
// it means (Find: a Subject, and the Places that it may be put, with what each is
// expected to take) and loads it there (Load: a Loaded). The pool decides the rest:
//
//   - which place (placement.go): by what history says is fastest, by the family's
//     order of preference, and by what has memory free;
//   - who makes room (memory.go): models that nobody uses, the one that was used
//     longest ago first. Memory is reserved before a model is loaded, and what a model
//     really takes is measured and charged from then on. One that takes more than was
//     reserved and free is ended, never the limit raised;
//   - who waits (queue.go): so many requests run at once, so many more wait in the
//     order in which they came, and the rest is refused with a time to come back.
//
// A model that cannot be loaded in one place is tried in the next where the request
// allows it, and every step is recorded in the answer. Parts that two models share
// are the Loader's: models that name the same Share are loaded by it side by side.
//
// The package knows nothing about processes, Python or HTTP.
package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// Op is what a loaded model is asked to do.
type Op string

// The operations, in the words of the Python interface.
const (
	Run      Op = "run"
	Batch    Op = "batch"
	Generate Op = "generate"
)

// Request asks a model for something. Zero fields are the defaults of assay.load.
type Request struct {
	Model      string
	Platform   string // "" is auto
	DType      string
	Weights    string
	Size       string
	NoFallback bool
	Op         Op
	Args       json.RawMessage // of the operation
}

// name is what requests for the same thing have in common.
func (r Request) name() string {
	b, _ := json.Marshal([]any{r.Model, r.Platform, r.DType, r.Weights, r.Size, r.NoFallback}) // strings
	return string(b)
}

// Step is a platform that could not have the model, where it went then, and why.
type Step struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Answer is what a model gave.
type Answer struct {
	Output   json.RawMessage `json:"output"`
	Settings json.RawMessage `json:"settings"` // as the Python interface tells them
	Key      string          `json:"key"`      // of the loaded model, see Status
	Fallback []Step          `json:"fallback"`
	QueuedMS float64         `json:"queued_ms"` // waiting for its turn and for memory
	LoadMS   float64         `json:"load_ms"`   // 0 where it was loaded already
	RunMS    float64         `json:"run_ms"`
}

// Bytes is memory of the host and of one device.
type Bytes struct {
	Host   int64 `json:"host"`
	Device int64 `json:"device"`
}

// Subject is the model that a request means, wherever it runs.
type Subject struct {
	Key   string // the same for the same model, size and weights
	Name  string
	Of    any    // the loader's own
	Share string // models with the same one may share parts; "" shares nothing
}

// Place is where a subject may run.
type Place struct {
	Target string // platform, device, engine, browser
	DType  string
	Device string // whose memory it takes beside the host's; "" is none
	Need   Bytes  // expected at most
	// MedianMS is what history says that it takes there; 0 is unknown. Rank is the
	// place in the family's order of preference.
	MedianMS float64
	Rank     int
}

// Loader finds and loads models. All methods may be called at the same time.
type Loader interface {
	// Find settles what a request means. Places are those that may be tried: of an
	// asked platform that one and its fallbacks in order, of auto all that are here.
	Find(context.Context, Request) (Subject, []Place, error)
	// Load loads a subject in a place. beside is one that shares parts with it and
	// stays loaded; nil is none.
	Load(ctx context.Context, s Subject, p Place, beside Loaded) (Loaded, error)
}

// Loaded is a model that is ready. Call is not called twice at the same time.
type Loaded interface {
	// Call runs an operation. When ctx ends the model is lost: it must be closed.
	Call(ctx context.Context, op Op, args json.RawMessage) (json.RawMessage, error)
	// Settings tells what runs where.
	Settings() json.RawMessage
	// Parts are those that it shares with models that were loaded before it.
	Parts() []string
	// Memory is what it takes now, without what it shares with others; false where
	// that cannot be told.
	Memory() (Bytes, bool)
	// Close gives the memory back, and returns when that is done.
	Close() error
}

// Limits are those of a pool.
type Limits struct {
	Host     int64            // bytes of host memory
	Devices  map[string]int64 // bytes of each device; one that is missing has no limit
	InFlight int              // requests that run at once
	Queue    int              // requests that wait
	Call     time.Duration    // for one call
	Load     time.Duration    // for loading one model
	Watch    time.Duration    // how often memory is measured; 0 only after each call
}

// Pool is a set of loaded models. Make it with New and close it.
type Pool struct {
	loader Loader
	limits Limits
	now    func() time.Time
	turns  *turns

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something may have become possible
	held    map[string]*held
	aliases map[string]alias         // what a request came to before
	learnt  map[string]Bytes         // what a place of a subject really took
	find    map[string]chan struct{} // one load of a thing at a time
	counts  Counters
	closed  bool
	stop    chan struct{}
	work    sync.WaitGroup
}

// alias is what a request came to.
type alias struct {
	key   string
	steps []Step
}

// held is a model in the pool.
type held struct {
	key     string
	subject Subject
	place   Place
	loaded  Loaded // nil while it is loading
	charge  Bytes
	users   int
	last    time.Time
	calls   int64
	use     chan struct{} // one call at a time: who calls puts something in
	lost    bool          // it must not be used any more
	why     error         // it was ended, where more is known than that
}

// New makes an empty pool.
func New(l Loader, limits Limits, now func() time.Time) *Pool {
	p := &Pool{
		loader: l, limits: limits, now: now, turns: newTurns(limits.InFlight, limits.Queue), changed: make(chan struct{}),
		held: map[string]*held{}, aliases: map[string]alias{}, learnt: map[string]Bytes{}, find: map[string]chan struct{}{}, stop: make(chan struct{}),
	}
	if limits.Watch > 0 {
		p.work.Go(p.watch)
	}
	return p
}

// errClosed says that the pool is over.
var errClosed error = &BusyError{Why: "the pool is closing", Seconds: 10}

// Call runs a request: it waits for its turn, loads the model if need be, and
// asks it.
func (p *Pool) Call(ctx context.Context, r Request) (Answer, error) {
	began := p.now()
	p.count(func(c *Counters) { c.Requests++ })
	leave, err := p.turns.enter(ctx)
	if err != nil {
		p.count(func(c *Counters) { c.Refused++ })
		return Answer{}, err
	}
	defer leave()
	h, a, err := p.take(ctx, r)
	if err != nil {
		p.count(func(c *Counters) { c.Failed++ })
		return Answer{}, err
	}
	defer p.give(h)
	select {
	case h.use <- struct{}{}:
		defer func() { <-h.use }()
	case <-ctx.Done():
		p.count(func(c *Counters) { c.Failed++ })
		return Answer{}, context.Cause(ctx)
	}
	a.Key = h.key
	a.QueuedMS = ms(p.now().Sub(began)) - a.LoadMS
	asked := p.now()
	a.Output, err = p.ask(h, r)
	a.RunMS = ms(p.now().Sub(asked))
	if err != nil {
		p.count(func(c *Counters) { c.Failed++ })
		return Answer{}, err
	}
	a.Settings = settings(h.loaded.Settings(), r, a.Fallback)
	return a, nil
}

// settings are those of a loaded model, with what this request asked for and how it
// came there: others may have come to the same model by another way.
func settings(told json.RawMessage, r Request, steps []Step) json.RawMessage {
	var all map[string]any
	if json.Unmarshal(told, &all) != nil || all == nil {
		return told
	}
	all["asked"], all["fallback"] = cmp.Or(r.Platform, "auto"), steps
	text, err := json.Marshal(all)
	if err != nil {
		return told
	}
	return text
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ask calls the model. It goes on when the asker leaves, which would cost the model:
// the answer is thrown away then.
func (p *Pool) ask(h *held, r Request) (json.RawMessage, error) {
	if err := p.ended(h); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.limits.Call)
	defer cancel()
	defer p.endedBy(cancel)()
	out, err := h.loaded.Call(ctx, r.Op, r.Args)
	if ctx.Err() != nil {
		p.lose(h, nil)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, errClosed
		}
		return nil, &RefusedError{Slow, errors.New("the model took longer than " + p.limits.Call.String() + ", and was ended")}
	}
	if refused := (*RefusedError)(nil); err != nil && (!errors.As(err, &refused) || refused.Kind == Broke) {
		p.lose(h, nil)
		if why := p.reason(h); why != nil { // watch ended it: that is why it broke
			return nil, why
		}
		return nil, &RefusedError{Broke, err}
	}
	if over := p.measure(h, false); over != nil {
		p.lose(h, over)
		return nil, over
	}
	return out, err
}

// endedBy cancels when the pool is closed, since whoever closes it does not wait for
// minutes; what it returns ends that.
func (p *Pool) endedBy(cancel func()) func() {
	over := make(chan struct{})
	go func() {
		select {
		case <-p.stop:
			cancel()
		case <-over:
		}
	}()
	return func() { close(over) }
}

// ended is why a model cannot be used any more; nil where it can.
func (p *Pool) ended(h *held) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !h.lost:
		return nil
	case h.why != nil:
		return h.why
	}
	return &RefusedError{Broke, errors.New("the model was lost while the request waited for it: try again")}
}

func (p *Pool) reason(h *held) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return h.why
}

// Close ends all models. Requests under way end with an error.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	close(p.stop)
	p.turns.close()
	p.wake()
	p.mu.Unlock()
	p.work.Wait()
	var failed []error
	for _, h := range p.all() {
		h.use <- struct{}{} // its last call has ended
		if p.out(h, errClosed) {
			failed = append(failed, h.loaded.Close())
			p.drop(h)
		}
		<-h.use
	}
	p.emptied()
	return errors.Join(failed...)
}

// closeLimit is how long Close waits for models that others are loading or ending.
const closeLimit = 20 * time.Second

// emptied waits until no model is left.
func (p *Pool) emptied() {
	limit := time.NewTimer(closeLimit)
	defer limit.Stop()
	for {
		p.mu.Lock()
		left, changed := len(p.held), p.changed
		p.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			return
		}
	}
}

func (p *Pool) all() []*held {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*held, 0, len(p.held))
	for _, h := range p.held {
		out = append(out, h)
	}
	return out
}

// wake lets all who wait look again; the lock is held.
func (p *Pool) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

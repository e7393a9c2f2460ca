package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// take finds the model that a request means, loads it if need be, and counts the
// request as a user of it.
func (p *Pool) take(ctx context.Context, r Request) (*held, Answer, error) {
	if h, a, ok := p.ready(r); ok {
		return h, a, nil
	}
	lock := p.lockOf(r.name())
	select { // those who ask for the same thing wait for one load
	case lock <- struct{}{}:
		defer func() { <-lock }()
	case <-ctx.Done():
		return nil, Answer{}, context.Cause(ctx)
	}
	if h, a, ok := p.ready(r); ok {
		return h, a, nil
	}
	subject, places, err := p.loader.Find(ctx, r)
	if err != nil {
		return nil, Answer{}, err
	}
	began := p.now()
	h, steps, err := p.placed(ctx, subject, p.ordered(subject, places, r), r.NoFallback)
	if err != nil {
		return nil, Answer{}, err
	}
	p.mu.Lock()
	p.aliases[r.name()] = alias{h.key, steps}
	p.mu.Unlock()
	return h, Answer{Fallback: steps, LoadMS: ms(p.now().Sub(began))}, nil
}

// ready is the model of a request that was loaded before.
func (p *Pool) ready(r Request) (*held, Answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.aliases[r.name()]
	if !ok || p.closed {
		return nil, Answer{}, false
	}
	h, ok := p.held[a.key]
	if !ok || h.loaded == nil || h.lost {
		return nil, Answer{}, false
	}
	h.users++
	h.last = p.now()
	return h, Answer{Fallback: append([]Step{}, a.steps...)}, true
}

// mostNames bounds what is remembered about requests: their words are the askers'.
const mostNames = 4096

func (p *Pool) lockOf(name string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.find[name] == nil {
		if len(p.find) > mostNames {
			clear(p.find)
			clear(p.aliases)
		}
		p.find[name] = make(chan struct{}, 1)
	}
	return p.find[name]
}

// ordered are the places in the order in which they are tried.
func (p *Pool) ordered(s Subject, places []Place, r Request) []Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := r.Platform != "" && !strings.EqualFold(r.Platform, "auto")
	for i := range places {
		if learnt, ok := p.learnt[keyOf(s, places[i])]; ok {
			places[i].Need = Bytes{max(places[i].Need.Host, learnt.Host), max(places[i].Need.Device, learnt.Device)}
		}
	}
	return order(places, asked, func(x Place) bool { return p.held[keyOf(s, x)] != nil || p.fits(x.Device, x.Need) })
}

func keyOf(s Subject, p Place) string { return s.Key + " on " + p.Target + " in " + p.DType }

// placed tries places until one has the model.
func (p *Pool) placed(ctx context.Context, s Subject, places []Place, strict bool) (*held, []Step, error) {
	steps := []Step{}
	for i, place := range places {
		h, err := p.in(ctx, s, place)
		if err == nil {
			return h, steps, nil
		}
		refused := (*RefusedError)(nil)
		other := errors.As(err, &refused) && (refused.Kind == Unavailable || refused.Kind == Unsupported || refused.Kind == TooLarge)
		if strict || !other || i+1 == len(places) {
			return nil, nil, err
		}
		steps = append(steps, Step{place.Target, places[i+1].Target, err.Error()})
		p.count(func(c *Counters) { c.Fallbacks++ })
	}
	return nil, nil, &RefusedError{Unavailable, errors.New("no platform is here that could run it")}
}

// in is the subject in a place: the one that is there, or a new one.
func (p *Pool) in(ctx context.Context, s Subject, place Place) (*held, error) {
	h, fresh, beside, err := p.reserve(ctx, s, place)
	if err != nil || !fresh {
		return h, err
	}
	loading, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.limits.Load)
	defer cancel()
	defer p.endedBy(cancel)()
	loaded, err := p.loader.Load(loading, s, place, beside)
	if err != nil {
		p.drop(h)
		switch {
		case errors.Is(loading.Err(), context.Canceled):
			err = errClosed
		case loading.Err() != nil:
			err = &RefusedError{Slow, fmt.Errorf("loading took longer than %s", p.limits.Load)}
		}
		return nil, err
	}
	p.mu.Lock()
	h.loaded = loaded
	p.counts.Loads++
	closed := p.closed
	p.wake()
	p.mu.Unlock()
	if closed { // Close did not see it
		p.give(h)
		p.lose(h, errClosed)
		return nil, errClosed
	}
	if over := p.measure(h, true); over != nil {
		p.give(h)
		p.lose(h, over)
		return nil, over
	}
	return h, nil
}

// reserve takes memory for a model, waiting for others to leave; fresh is false where
// it is loaded already. The caller is a user of it.
func (p *Pool) reserve(ctx context.Context, s Subject, place Place) (h *held, fresh bool, beside Loaded, err error) {
	key := keyOf(s, place)
	if err := p.possible(place); err != nil {
		return nil, false, nil, err
	}
	deadline := time.NewTimer(p.limits.Load)
	defer deadline.Stop()
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, false, nil, errClosed
		}
		h, ok := p.held[key]
		switch {
		case ok && h.loaded != nil && !h.lost:
			h.users++
			h.last = p.now()
			p.mu.Unlock()
			return h, false, nil, nil
		case !ok && p.fits(place.Device, place.Need):
			h = &held{key: key, subject: s, place: place, charge: place.Need, users: 1, last: p.now(), use: make(chan struct{}, 1)}
			p.held[key] = h
			beside := p.beside(h)
			p.mu.Unlock()
			return h, true, beside, nil
		}
		var idle *held
		if !ok {
			idle = p.idlest()
		}
		changed := p.changed
		p.mu.Unlock()
		if idle != nil {
			p.close(idle)
			p.count(func(c *Counters) { c.Evictions++ })
			continue
		}
		select {
		case <-changed:
		case <-deadline.C:
			return nil, false, nil, &BusyError{Why: "no memory became free for " + s.Name + ": all loaded models are in use", Seconds: 10}
		case <-ctx.Done():
			return nil, false, nil, context.Cause(ctx)
		}
	}
}

// possible refuses what would not fit into an empty pool.
func (p *Pool) possible(x Place) error {
	if limit := p.limits.Host; limit > 0 && x.Need.Host > limit {
		return &RefusedError{TooLarge, fmt.Errorf("it needs about %s of host memory, and the pool may use %s", human(x.Need.Host), human(limit))}
	}
	if limit, ok := p.limits.Devices[x.Device]; ok && x.Need.Device > limit {
		return &RefusedError{TooLarge, fmt.Errorf("it needs about %s of the memory of %s, and the pool may use %s", human(x.Need.Device), x.Device, human(limit))}
	}
	return nil
}

func human(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

// fits reports whether memory is free; the lock is held.
func (p *Pool) fits(device string, need Bytes) bool {
	host, devices := p.used()
	if p.limits.Host > 0 && host+need.Host > p.limits.Host {
		return false
	}
	limit, ok := p.limits.Devices[device]
	return device == "" || !ok || devices[device]+need.Device <= limit
}

// used is what is reserved and taken; the lock is held.
func (p *Pool) used() (host int64, devices map[string]int64) {
	devices = map[string]int64{}
	for _, h := range p.held {
		host += h.charge.Host
		devices[h.place.Device] += h.charge.Device
	}
	return host, devices
}

// beside is a loaded model that shares parts with another and is in the same place;
// the lock is held.
func (p *Pool) beside(h *held) Loaded {
	if h.subject.Share == "" {
		return nil
	}
	for _, other := range p.held {
		if other != h && other.loaded != nil && !other.lost && other.subject.Share == h.subject.Share && other.place.Target == h.place.Target && other.place.DType == h.place.DType {
			return other.loaded
		}
	}
	return nil
}

// idlest takes out the model that nobody uses and that was used longest ago; its
// memory stays charged until close has ended it. The lock is held.
func (p *Pool) idlest() *held {
	var found *held
	for _, h := range p.held {
		if h.users == 0 && h.loaded != nil && !h.lost && (found == nil || h.last.Before(found.last)) {
			found = h
		}
	}
	if found != nil {
		found.lost = true
	}
	return found
}

// close ends a model that was taken out, and then its charge.
func (p *Pool) close(h *held) {
	_ = h.loaded.Close() // which has ended it, whatever it says
	p.drop(h)
}

// drop forgets a model that is not there, or not any more.
func (p *Pool) drop(h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[h.key] == h {
		delete(p.held, h.key)
	}
	p.wake()
}

// give ends a use.
func (p *Pool) give(h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.users--
	h.last = p.now()
	h.calls++
	p.wake()
}

// lose ends a model that broke, or took too much. Its other users are told why, where
// that is known.
func (p *Pool) lose(h *held, why error) {
	if p.out(h, why) {
		p.count(func(c *Counters) { c.Lost++ })
		p.close(h)
	}
}

// out takes a loaded model out; true for the first who does so, who has to end it.
func (p *Pool) out(h *held, why error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.lost || h.loaded == nil {
		return false
	}
	h.lost, h.why = true, why
	return true
}

// measure charges what a model takes. Where that is more than was reserved and is not
// free, models that nobody uses leave; where that is not enough, it is an error. What
// was taken is reserved from the start the next time: all of what loading took, but of
// what a call took only what there was room for. Else one large input would be the last
// that the model is ever loaded for.
func (p *Pool) measure(h *held, loading bool) *RefusedError {
	took, known := h.loaded.Memory()
	if !known {
		return nil // it keeps its reservation
	}
	p.mu.Lock()
	if loading {
		p.learn(h.key, took)
	}
	more := Bytes{max(0, took.Host-h.charge.Host), max(0, took.Device-h.charge.Device)}
	for more != (Bytes{}) && !p.fits(h.place.Device, more) {
		idle := p.idlest()
		if idle == nil {
			p.mu.Unlock()
			return &RefusedError{TooLarge, fmt.Errorf("it takes %s of memory, more than the %s that were reserved, and no more is free", human(took.Host), human(h.charge.Host))}
		}
		p.mu.Unlock()
		p.close(idle)
		p.count(func(c *Counters) { c.Evictions++ })
		p.mu.Lock()
	}
	h.charge = Bytes{max(h.charge.Host, took.Host), max(h.charge.Device, took.Device)}
	p.learn(h.key, took)
	p.peak()
	p.mu.Unlock()
	return nil
}

// learn notes what a subject took in a place; the lock is held.
func (p *Pool) learn(key string, took Bytes) {
	before := p.learnt[key]
	p.learnt[key] = Bytes{max(before.Host, took.Host), max(before.Device, took.Device)}
}

// watch measures models while they work.
func (p *Pool) watch() {
	tick := time.NewTicker(p.limits.Watch)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		for _, h := range p.all() {
			p.mu.Lock()
			busy := h.users > 0 && h.loaded != nil && !h.lost
			p.mu.Unlock()
			if !busy {
				continue
			}
			if over := p.measure(h, false); over != nil {
				p.lose(h, over)
			}
		}
	}
}

package pages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"assay/internal/browser"
	"assay/internal/platform"
)

// Find says which browser is meant by a target, and how it is to be started.
// Its error is a sentence for the user.
type Find func(ctx context.Context, t platform.Target) (browser.Options, error)

// Pool opens pages in browsers that it starts: functional cells share a warm
// one, a timed cell has one of its own.
type Pool struct {
	find   Find
	ctx    context.Context //nolint:containedctx // the life of the warm browsers, ended by Close
	cancel context.CancelFunc

	mu     sync.Mutex
	warm   map[string]*warm // by what it was started with
	closed bool
}

// warm is a browser that cells share. Whoever needs it first has it started,
// without the pool's lock: a start takes seconds, and cells of other browsers go on.
type warm struct {
	ready   chan struct{} // closed when the start is over
	browser *browser.Browser
	err     error // why there is no browser
}

// start starts the browser, once.
func (w *warm) start(ctx context.Context, o browser.Options) {
	w.browser, w.err = browser.Start(ctx, o)
	close(w.ready)
}

// started reports whether the start is over, well or not: what came of it may be
// looked at from then on.
func (w *warm) started() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// over reports whether it is of no use any more: its start failed, or it has died.
func (w *warm) over() bool {
	switch {
	case !w.started():
		return false
	case w.err != nil:
		return true
	}
	select {
	case <-w.browser.Gone():
		return true
	default:
		return false
	}
}

// NewPool returns a pool; nothing is started yet.
func NewPool(find Find) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pool{find: find, ctx: ctx, cancel: cancel, warm: map[string]*warm{}}
}

// Open opens a page in the browser that the target means.
func (p *Pool) Open(ctx context.Context, w Where, url string) (Page, error) {
	o, err := p.find(ctx, w.Target)
	if err != nil {
		return nil, err
	}
	if w.Alone {
		b, err := browser.Start(ctx, o)
		if err != nil {
			return nil, err
		}
		page, err := b.Open(ctx, url)
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		return pooled{page, b, b.Close}, nil
	}
	b, err := p.shared(ctx, o)
	if err != nil {
		return nil, err
	}
	page, err := b.Open(ctx, url)
	if err != nil {
		if ctx.Err() == nil { // it hangs, or is about to end: the next cell gets another
			err = errors.Join(err, p.drop(b))
		}
		return nil, fmt.Errorf("open a page: %w", err)
	}
	return pooled{page, b, page.Close}, nil
}

// drop closes a warm browser that opens no pages any more.
func (p *Pool) drop(b *browser.Browser) error {
	p.mu.Lock()
	maps.DeleteFunc(p.warm, func(_ string, w *warm) bool { return w.started() && w.browser == b })
	p.mu.Unlock()
	return b.Close()
}

// errPoolClosed is why a pool opens nothing any more.
var errPoolClosed = errors.New("the browsers were closed")

// shared is the warm browser for these options, started again if it has died.
func (p *Pool) shared(ctx context.Context, o browser.Options) (*browser.Browser, error) {
	w, mine, err := p.claim(keyOf(o))
	if err != nil {
		return nil, err
	}
	if mine {
		go w.start(p.ctx, o) // who asked first may leave, and others wait for it
	}
	select {
	case <-w.ready:
		return w.browser, w.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// claim is the warm browser of a key, and whether the caller is to start it.
func (p *Pool) claim(key string) (w *warm, mine bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errPoolClosed
	}
	if w := p.warm[key]; w != nil && !w.over() {
		return w, false, nil
	}
	w = &warm{ready: make(chan struct{})}
	p.warm[key] = w
	return w, true, nil
}

func keyOf(o browser.Options) string {
	return strings.Join([]string{o.Kind, o.Path, fmt.Sprint(o.Software), strings.Join(o.Args, "\x00"), strings.Join(o.Env, "\x00")}, "\x01")
}

// Close ends the warm browsers, those too that are being started.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	all := slices.Collect(maps.Values(p.warm))
	clear(p.warm)
	p.mu.Unlock()
	defer p.cancel()
	var err error
	for _, w := range all {
		if !w.started() {
			p.cancel() // a start under way ends with it, and the browser too
			<-w.ready
		}
		if w.browser != nil {
			err = errors.Join(err, w.browser.Close())
		}
	}
	return err
}

// pooled is a page with the browser it is in.
type pooled struct {
	*browser.Page
	in    *browser.Browser
	close func() error
}

func (p pooled) About() About {
	o := p.in.Options()
	return About{Browser: o.Kind, Version: p.in.Version(), Software: o.Software}
}

func (p pooled) PeakBytes() int64 {
	if n := p.in.PeakBytes(); n != nil {
		return *n
	}
	return 0
}

func (p pooled) Close() error { return p.close() }

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
	"assay/internal/lazy"
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
	warm   map[string]*lazy.Value[*browser.Browser] // that cells share, by what each was started with
	closed bool
}

// NewPool returns a pool; nothing is started yet.
func NewPool(find Find) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pool{find: find, ctx: ctx, cancel: cancel, warm: map[string]*lazy.Value[*browser.Browser]{}}
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

// drop closes a warm browser that no longer opens pages.
func (p *Pool) drop(b *browser.Browser) error {
	p.mu.Lock()
	maps.DeleteFunc(p.warm, func(_ string, w *lazy.Value[*browser.Browser]) bool {
		made, ok := w.Made()
		return ok && made == b
	})
	p.mu.Unlock()
	return b.Close()
}

// errPoolClosed is why a pool no longer opens anything.
var errPoolClosed = errors.New("the browsers were closed")

// shared is the warm browser for these options, started again if it has died.
// The pool's lock is not held meanwhile: a start takes seconds, and cells of
// other browsers go on.
func (p *Pool) shared(ctx context.Context, o browser.Options) (*browser.Browser, error) {
	w, err := p.claim(o)
	if err != nil {
		return nil, err
	}
	return w.Get(ctx)
}

// claim is the warm browser of these options, to be started by who gets it first.
func (p *Pool) claim(o browser.Options) (*lazy.Value[*browser.Browser], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPoolClosed
	}
	key := keyOf(o)
	if w := p.warm[key]; w != nil && !died(w) {
		return w, nil
	}
	w := lazy.New(func(ctx context.Context) (*browser.Browser, error) { return p.start(ctx, o) })
	p.warm[key] = w
	return w, nil
}

// start starts a browser that lives as long as the pool; ctx bounds the start.
func (p *Pool) start(ctx context.Context, o browser.Options) (*browser.Browser, error) {
	life, end := context.WithCancelCause(p.ctx)
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer stop()
	return browser.Start(life, o)
}

// died reports whether a browser was started and is no more.
func died(w *lazy.Value[*browser.Browser]) bool {
	b, ok := w.Made()
	if !ok {
		return false
	}
	select {
	case <-b.Gone():
		return true
	default:
		return false
	}
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
		err = errors.Join(err, w.Close((*browser.Browser).Close))
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

package pages

import (
	"context"
	"errors"
	"fmt"
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

	mu   sync.Mutex
	warm map[string]*browser.Browser // by what it was started with
}

// NewPool returns a pool; nothing is started yet.
func NewPool(find Find) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pool{find: find, ctx: ctx, cancel: cancel, warm: map[string]*browser.Browser{}}
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
	b, err := p.shared(o)
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
	defer p.mu.Unlock()
	for key, warm := range p.warm {
		if warm == b {
			delete(p.warm, key)
		}
	}
	return b.Close()
}

// shared is the warm browser for these options, started again if it has died.
func (p *Pool) shared(o browser.Options) (*browser.Browser, error) {
	key := strings.Join([]string{o.Kind, o.Path, fmt.Sprint(o.Software), strings.Join(o.Args, "\x00"), strings.Join(o.Env, "\x00")}, "\x01")
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.warm[key]; b != nil {
		select {
		case <-b.Gone():
		default:
			return b, nil
		}
	}
	b, err := browser.Start(p.ctx, o)
	if err != nil {
		return nil, err
	}
	p.warm[key] = b
	return b, nil
}

// Close ends the warm browsers.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, b := range p.warm {
		err = errors.Join(err, b.Close())
	}
	clear(p.warm)
	p.cancel()
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

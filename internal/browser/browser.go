package browser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Options say which browser is started, and how.
type Options struct {
	Kind     string   // one of [Kinds]
	Path     string   // the program
	Software bool     // force the software adapter: for machines without a GPU
	Env      []string // "KEY=value", over what every browser gets
	Args     []string // further flags, after Assay's own
}

// Limits on what a browser must do promptly.
const (
	startLimit = 60 * time.Second // a cold disk and a busy machine
	openLimit  = 30 * time.Second
	closeLimit = 5 * time.Second
)

// Browser is a running browser. Its methods may be called from several
// goroutines.
type Browser struct {
	options Options
	driver  driver
	profile *profile
	meter   *meter
	ended   chan struct{} // closed when nothing of it is left
	once    sync.Once
	left    error // what could not be cleared away

	mu    sync.Mutex
	pages map[*Page]struct{}
	why   error // set when it is ending
}

// ErrClosed is why a page is gone whose browser was closed.
var ErrClosed = errors.New("the browser was closed")

// Start starts a browser with a fresh profile and returns when pages can be
// opened. When ctx ends the browser is closed.
func Start(ctx context.Context, o Options) (*Browser, error) {
	begin, err := family(o.Kind)
	if err != nil {
		return nil, err
	}
	sweepProfiles()
	p, err := newProfile()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it was not ready within %v", startLimit))
	defer cancel()
	d, err := begin(limited, o, p.dir)
	if err != nil {
		if limited.Err() != nil {
			err = fmt.Errorf("%w (%w)", context.Cause(limited), err)
		}
		return nil, errors.Join(fmt.Errorf("%s (%s) could not be started: %w", o.Kind, o.Path, err), p.remove())
	}
	b := &Browser{options: o, driver: d, profile: p, ended: make(chan struct{}), pages: map[*Page]struct{}{}}
	b.meter = watch(d.group())
	stop := context.AfterFunc(ctx, func() { b.end(context.Cause(ctx)) })
	go b.mourn(stop)
	return b, nil
}

// mourn waits for the browser's end, whoever caused it.
func (b *Browser) mourn(stop func() bool) {
	select {
	case <-b.driver.lost():
		b.end(nil)
	case <-b.ended:
	}
	stop()
}

// Options returns what the browser was started with.
func (b *Browser) Options() Options { return b.options }

// Version is the browser's own version: 153.0.7800.2.
func (b *Browser) Version() string { return b.driver.version() }

// PID is the browser's main process.
func (b *Browser) PID() int { return b.driver.pid() }

// MemoryBytes is what all processes of the browser take now, without the pages
// of files that they share; nil where it cannot be told.
func (b *Browser) MemoryBytes() *int64 { return b.meter.now() }

// PeakBytes is the most that they took together so far, seen every quarter of
// a second; nil where it cannot be told.
func (b *Browser) PeakBytes() *int64 { return b.meter.most() }

// Gone is closed when the browser has ended, for whatever reason, and nothing
// of it is left.
func (b *Browser) Gone() <-chan struct{} { return b.ended }

// Open opens the address in a fresh page. It returns when the browser has made
// the page, which then loads by itself.
func (b *Browser) Open(ctx context.Context, url string) (*Page, error) {
	if err := b.reason(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openLimit, fmt.Errorf("the browser did not answer within %v", openLimit))
	defer cancel()
	p := &Page{browser: b, gone: make(chan error, 1)}
	t, err := b.driver.open(ctx, url, p.end)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("no page could be opened in %s: %w", b.options.Kind, err)
	}
	p.tab = t
	b.adopt(p)
	return p, nil
}

// adopt keeps the page, to tell it of the browser's end.
func (b *Browser) adopt(p *Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil {
		p.end(b.why)
		return
	}
	b.pages[p] = struct{}{}
}

func (b *Browser) forget(p *Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, p)
}

func (b *Browser) reason() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why
}

// Close ends the browser with all its pages and processes, and removes its
// profile. It may be called again, and after the browser died.
func (b *Browser) Close() error {
	b.end(ErrClosed)
	<-b.ended
	return b.left
}

// end clears the browser away, once. Without a reason it died of itself, and
// its last output says why.
func (b *Browser) end(why error) {
	b.once.Do(func() {
		b.meter.stop()
		if why != nil {
			b.tell(why) // before its processes go, so that no page looks crashed
		}
		how := b.driver.end()
		if why == nil {
			b.tell(fmt.Errorf("the browser died: %s", how))
		}
		b.left = b.profile.remove()
		close(b.ended)
	})
}

// tell ends every page that is still open.
func (b *Browser) tell(why error) {
	b.mu.Lock()
	b.why = why
	open := slices.Collect(maps.Keys(b.pages))
	clear(b.pages)
	b.mu.Unlock()
	for _, p := range open {
		p.end(why)
	}
}

// Page is one page of a browser.
type Page struct {
	browser *Browser
	tab     tab
	once    sync.Once
	gone    chan error
}

// Gone gives one error, why the page is gone, and is closed then: it crashed,
// its browser died or was closed, or Close was called.
func (p *Page) Gone() <-chan error { return p.gone }

// ErrPageClosed is why a page is gone that was closed.
var ErrPageClosed = errors.New("the page was closed")

func (p *Page) end(why error) {
	p.once.Do(func() {
		p.gone <- why
		close(p.gone)
	})
	p.browser.forget(p)
}

// Close closes the page. Closing one that is gone is not an error.
func (p *Page) Close() error {
	p.end(ErrPageClosed)
	if p.browser.reason() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	err := p.tab.close(ctx)
	if err == nil || p.browser.reason() != nil {
		return nil
	}
	return fmt.Errorf("the page could not be closed: %w", err)
}

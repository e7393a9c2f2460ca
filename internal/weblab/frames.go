package weblab

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"assay/internal/pages"
	"assay/internal/platform"
)

// frame is a runner page in a frame of a guest's page.
type frame struct {
	guest    *guest
	id       string
	software bool
	gone     chan error
	once     sync.Once
}

// Open has the guest's page open the runner page. The address is the host's on
// this machine; the guest finds the same path where it found the lab.
func (g *guest) Open(_ context.Context, w pages.Where, address string) (pages.Page, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the page's address: %w", err)
	}
	f := &frame{guest: g, id: rand.Text(), software: g.software(w.Target), gone: make(chan error, 1)}
	g.mu.Lock()
	g.frames[f.id] = f
	lost := g.lost
	g.mu.Unlock()
	if lost == nil {
		lost = g.say(open{"open", f.id, at.Path})
	}
	if lost != nil {
		return nil, fmt.Errorf("the guest's page is gone: %w", lost)
	}
	return f, nil
}

// software reports whether a target is the guest's processor in disguise.
func (g *guest) software(t platform.Target) bool {
	return slices.ContainsFunc(targets(g.report, t.Browser), func(o offerTarget) bool { return o.Target == t.String() && o.Software })
}

// Gone tells when the guest's page is gone, and this one with it.
func (f *frame) Gone() <-chan error { return f.gone }

// About is what the guest's browser said about itself.
func (f *frame) About() pages.About {
	kind, version := f.guest.about.browser()
	return pages.About{Browser: kind, Version: version, Software: f.software}
}

// PeakBytes is unknown: no browser tells what its processes hold.
func (f *frame) PeakBytes() int64 { return 0 }

// Close has the guest's page remove the frame.
func (f *frame) Close() error {
	f.once.Do(func() {
		f.guest.mu.Lock()
		delete(f.guest.frames, f.id)
		f.guest.mu.Unlock()
		_ = f.guest.say(shut{"close", f.id}) // a page that is gone has no frames
	})
	return nil
}

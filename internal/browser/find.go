package browser

import (
	"cmp"
	"context"
	"slices"

	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/platform"
)

// Find returns how each browser of a machine is started: the packed Chromium
// first, because its version is the one that Assay was tried with, then the
// installed ones in their fixed order. A web environment that is not there is
// the zero Web.
func Find(ctx context.Context, m *detect.Machine, web environment.Web) []Options {
	var found []Options
	if path := web.Chromium(); path != "" && detect.MayStart(m, Packed) {
		found = append(found, Options{Kind: Packed, Path: path, Env: web.ChromiumEnv(ctx)})
	}
	for _, b := range detect.Browsers(m) {
		found = append(found, Options{Kind: b.Name, Path: b.Path})
	}
	return found
}

// Suited returns those of the browsers in which detection saw a platform, with
// a real device before a software one, each to be started as it was when it
// was asked. Browsers that were never asked come last: they may have it.
func Suited(found []Options, r detect.Report, name platform.Name) []Options {
	p, _ := r.Get(name)
	rank := func(o Options) int {
		for _, d := range p.Devices {
			if d.Browser == o.Kind {
				return rankOf(d.Software)
			}
		}
		if answer(r, o.Kind) != nil {
			return unsuited
		}
		return unasked
	}
	var suited []Options
	for _, o := range found {
		if rank(o) == unsuited {
			continue
		}
		if a := answer(r, o.Kind); a != nil {
			o.Software, o.Args = a.Forced, append(slices.Clone(o.Args), a.Args...)
		}
		suited = append(suited, o)
	}
	slices.SortStableFunc(suited, func(a, b Options) int { return cmp.Compare(rank(a), rank(b)) })
	return suited
}

// The ranks of browsers, best first.
const (
	withDevice = iota
	withSoftware
	unasked
	unsuited
)

func rankOf(software bool) int {
	if software {
		return withSoftware
	}
	return withDevice
}

func answer(r detect.Report, kind string) *detect.BrowserAnswer {
	for _, b := range r.Browsers {
		if b.Name == kind {
			return b.Answer
		}
	}
	return nil
}

package browser

import (
	"context"
	"slices"

	"assay/internal/detect"
	"assay/internal/environment"
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

// AsAsked returns how a browser is started so that it has the adapter that it
// had when it was asked.
func AsAsked(o Options, r detect.Report) Options {
	for _, b := range r.Browsers {
		if b.Name == o.Kind && b.Answer != nil {
			o.Software, o.Args = b.Answer.Forced, append(slices.Clone(o.Args), b.Answer.Args...)
		}
	}
	return o
}

package browser

import (
	"context"

	"assay/internal/detect"
	"assay/internal/environment"
)

// Find returns how each browser of a machine is started: the packed Chromium
// first, because its version is the one that Assay was tried with, then the
// installed ones in their fixed order. A web environment that is not there is
// the zero Web.
func Find(ctx context.Context, m *detect.Machine, web environment.Web) []Options {
	var found []Options
	if path := web.Chromium(); path != "" {
		found = append(found, Options{Kind: Packed, Path: path, Env: web.ChromiumEnv(ctx)})
	}
	for _, b := range detect.Browsers(m) {
		found = append(found, Options{Kind: b.Name, Path: b.Path})
	}
	return found
}

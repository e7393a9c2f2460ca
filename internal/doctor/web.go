package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/platform"
)

// inBrowsers are the platforms whose cells run in pages.
var inBrowsers = []platform.Name{platform.WebNN, platform.WebGPU}

// lacks is a failure for who asked for such a platform, and news for others:
// nothing else needs browsers.
func (d *Deps) lacks(do, format string, args ...any) Finding {
	for _, name := range inBrowsers {
		if d.asked == name {
			return fail(do, format, args...)
		}
	}
	return skipped(format, args...)
}

func checkNPM(ctx context.Context, d *Deps) Finding {
	npm, err := d.NPM(ctx)
	if err == nil {
		return ok("%s", npm)
	}
	problem, do := hint(err, "install Node.js, which includes npm")
	if _, absent := d.Web(); absent == nil {
		return warn(do, "%s; the installed web environment works without it", problem)
	}
	return d.lacks(do, "%s", problem)
}

const againWeb = "remove its folder and run assay setup web"

func checkWeb(_ context.Context, d *Deps) Finding {
	web, err := d.Web()
	if errors.Is(err, environment.ErrNoWeb) {
		return d.lacks("run assay setup web", "the web environment of this version is not installed")
	}
	if err != nil {
		return fail(againWeb, "%v", err)
	}
	damaged, err := d.InspectWeb(web)
	switch {
	case err != nil:
		return fail(againWeb, "%v", err)
	case len(damaged) > 0:
		return fail(againWeb, "%d files of %s are damaged%s", len(damaged), web.Dir, first(damaged))
	}
	return ok("onnxruntime-web %s, transformers.js %s (%s)", web.Versions["onnxruntime-web"], web.Versions["@huggingface/transformers"], web.Dir)
}

func checkBrowsers(_ context.Context, d *Deps) Finding {
	var names []string
	if web, err := d.Web(); err == nil && web.Chromium() != "" {
		names = append(names, fmt.Sprintf("%s (Chromium %s)", detect.PackedBrowser, web.Versions["chromium"]))
	}
	for _, b := range d.Seen().Browsers {
		names = append(names, fmt.Sprintf("%s (%s)", b.Name, b.Path))
	}
	if len(names) == 0 {
		return d.lacks("install Chromium, Chrome, Edge or Firefox; on Linux x86-64 assay setup web installs one", "there is no browser here")
	}
	return ok("%s", strings.Join(names, ", "))
}

// checkBrowserLibraries is for the packed Chromium: an installed browser came
// with what it needs.
func checkBrowserLibraries(ctx context.Context, d *Deps) Finding {
	web, err := d.Web()
	if err != nil || web.Chromium() == "" {
		return skipped("there is no packed Chromium")
	}
	missing, unmet, err := d.BrowserLibraries(ctx, web)
	switch {
	case err != nil:
		return skipped("%v", err)
	case len(unmet) > 0:
		return fail("install them (on Debian and Ubuntu: apt install libnss3 libnspr4 libexpat1)", "the packed Chromium does not start without %s", strings.Join(unmet, ", "))
	case len(missing) > 0:
		return ok("this system lacks %s; those packed with Chromium are used", strings.Join(missing, ", "))
	}
	return ok("this system has all that the packed Chromium needs")
}

package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// The kinds of browsers. Packed is the Chromium of Assay's web environment.
const (
	Packed   = "packed"
	Chromium = "chromium"
	Chrome   = "chrome"
	Edge     = "edge"
	Firefox  = "firefox"
	Safari   = "safari"
)

// driver is how a family of browsers is talked to. Its methods may be called
// from several goroutines.
type driver interface {
	version() string
	pid() int
	// open opens a page. When the page goes away by itself, gone is told why,
	// once; not when the whole browser does.
	open(ctx context.Context, url string, gone func(error)) (tab, error)
	// lost is closed when the browser can be talked to no more.
	lost() <-chan struct{}
	// end kills the browser with everything below it, waits for it, and says
	// how it ended.
	end() string
	// group is the browser's process group; nil where its processes are not
	// below ours.
	group() *group
}

// tab is one open page of a driver.
type tab interface {
	close(ctx context.Context) error
}

// start is how a family's browser is started. What it returns is ready to open
// pages; when it returns an error nothing is left running.
type start func(ctx context.Context, o Options, profile string) (driver, error)

// kinds says which family each kind is of, and whether it must be told to use
// its software adapter: the others come to theirs by themselves. What else
// differs lies in the families' files.
var kinds = []struct {
	name   string
	start  start
	forces bool
}{
	{Packed, startChromium, true},
	{Chromium, startChromium, true},
	{Chrome, startChromium, true},
	{Edge, startChromium, true},
	{Firefox, startFirefox, false},
	{Safari, startSafari, false},
}

func family(kind string) (start, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k.name == kind {
			return k.start, nil
		}
		names[i] = k.name
	}
	return nil, fmt.Errorf("%q is not a kind of browser: choose %s", kind, strings.Join(names, ", "))
}

// forces reports whether a kind has a software adapter only when told.
func forces(kind string) bool {
	for _, k := range kinds {
		if k.name == kind {
			return k.forces
		}
	}
	return false
}

// Kinds returns the names of the kinds.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return slices.Clip(names)
}

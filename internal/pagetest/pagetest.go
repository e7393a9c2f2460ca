// Package pagetest drives real browsers in tests of pages: it opens them, runs
// scripts in them, takes pictures, and lists everything that went wrong there.
//
// A Tab is a page in Chromium (chromium.go, by chromedp) or in Firefox
// (firefox.go, by WebDriver BiDi). Both report the same problems: errors and
// warnings of the console, exceptions, breaches of a page's policy, and
// requests that leave this machine. Audit asks axe-core, and Keep stores a
// picture where ASSAY_TEST_SHOTS names a folder.
//
// internal/browser starts browsers for measuring and keeps its hands off their
// pages; this package is for tests, which do not.
package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/browser"
	"assay/internal/detect"
	"assay/internal/environment"
)

// Keys that are no characters, as WebDriver names them.
const (
	Enter  = "\uE006"
	Escape = "\uE00C"
	Right  = "\uE014"
	Down   = "\uE015"
)

// View is how a page is looked at.
type View struct {
	Name          string
	Width, Height int
	Dark          bool
}

// The views that every page must suit.
var (
	Desktop = View{"desktop", 1360, 900, false}
	Night   = View{"night", 1360, 900, true}
	Phone   = View{"phone", 390, 844, false}
)

// Views are all of them.
func Views() []View { return []View{Desktop, Night, Phone} }

// Tab is a page of a browser.
type Tab interface {
	// Open goes to an address in a view and returns when the page is loaded.
	Open(ctx context.Context, address string, v View) error
	// Eval runs an expression, waits for it where it is a promise, and gives its
	// value as JSON.
	Eval(ctx context.Context, expression string) (json.RawMessage, error)
	// Type writes into what has the focus, as a keyboard does; see Enter and the
	// other keys.
	Type(ctx context.Context, text string) error
	// Shot is a picture of what can be seen, as PNG.
	Shot(ctx context.Context) ([]byte, error)
	// Problems are those since the last call.
	Problems() []string
}

// problems collects what goes wrong.
type problems struct {
	mu   sync.Mutex
	list []string
}

func (p *problems) add(format string, values ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, fmt.Sprintf(format, values...))
}

// Problems are those since the last call.
func (p *problems) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list
	p.list = nil
	return list
}

// asked reports a request that leaves this machine.
func (p *problems) asked(address string) {
	u, err := url.Parse(address)
	if err != nil {
		p.add("a request to %s", address)
		return
	}
	switch u.Scheme {
	case "file", "data", "blob", "about", "chrome", "moz-extension", "resource":
		return
	}
	if host := u.Hostname(); host != "127.0.0.1" && host != "localhost" {
		p.add("a request leaves this machine: %s", address)
	}
}

// found are the browsers of this machine.
func found(t testing.TB) []browser.Options {
	t.Helper()
	folders, err := environment.FindFolders(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	web, err := environment.New(folders, os.Environ(), func(s string) { t.Log(s) }).FindWeb()
	if err != nil {
		t.Fatalf("%v (make setup-web makes it)", err)
	}
	return browser.Find(t.Context(), detect.Live(), web)
}

// Page is a tab with a test around it.
type Page struct {
	Tab
	t testing.TB
}

// On wraps a tab for a test.
func On(t testing.TB, tab Tab) *Page { return &Page{tab, t} }

// patience is for what a page on a busy machine must do soon.
const patience = 4 * time.Minute

// Visit opens an address and waits until the page says that it is ready.
func (p *Page) Visit(address string, v View) {
	p.t.Helper()
	if err := p.Open(p.t.Context(), address, v); err != nil {
		p.t.Fatalf("%s: %v", address, err)
	}
	p.Await(`document.documentElement.dataset.ready === "yes"`)
}

// Await waits until an expression is true.
func (p *Page) Await(expression string) {
	p.t.Helper()
	var last json.RawMessage
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		last, err = p.Eval(p.t.Context(), expression)
		if err == nil && string(last) == "true" {
			return
		}
	}
	text, _ := p.Eval(p.t.Context(), "document.body.innerText.slice(0, 2000)")
	p.t.Fatalf("%s: not within %v (%s, %v); the page says %s", expression, patience, last, err, text)
}

// Do runs an expression that must not fail.
func (p *Page) Do(expression string) {
	p.t.Helper()
	if _, err := p.Eval(p.t.Context(), expression); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

// Value is an expression's.
func Value[T any](p *Page, expression string) (v T) {
	p.t.Helper()
	text, err := p.Eval(p.t.Context(), expression)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		p.t.Fatalf("%s: %v (%s)", expression, err, text)
	}
	return v
}

// Write writes into what has the focus.
func (p *Page) Write(text string) {
	p.t.Helper()
	if err := p.Type(p.t.Context(), text); err != nil {
		p.t.Fatal(err)
	}
}

// Clean fails the test where anything went wrong since the last call.
func (p *Page) Clean(where string) {
	p.t.Helper()
	for _, text := range p.Problems() {
		p.t.Errorf("%s: %s", where, text)
	}
}

// Keep stores a picture in the folder that ASSAY_TEST_SHOTS names.
func (p *Page) Keep(name string) {
	p.t.Helper()
	dir := os.Getenv("ASSAY_TEST_SHOTS")
	if dir == "" {
		return
	}
	b, err := p.Shot(p.t.Context())
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".png"), b, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// Audit asks axe-core, whose script is given, for faults that keep people from
// using the page. It is run beside the page's policy, not under it.
func (p *Page) Audit(where, axe string) {
	p.t.Helper()
	p.Do(axe + "; true")
	type fault struct {
		ID, Impact, Help string
		Nodes            []struct {
			HTML    string
			Summary string `json:"failureSummary"`
		}
	}
	for _, f := range Value[[]fault](p, `axe.run(document, {resultTypes: ["violations"], preload: false}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({HTML: n.html.slice(0, 200), failureSummary: n.failureSummary}))})))`) {
		p.t.Errorf("%s: axe: %s (%s): %s: %+v", where, f.ID, f.Impact, f.Help, f.Nodes)
	}
}

// Times are how long the parts of opening a page took, in milliseconds since its
// navigation began.
type Times struct {
	Paint  float64 `json:"paint"`  // the first content
	Ready  float64 `json:"ready"`  // the page can be used; 0 where it has no such mark
	Filter float64 `json:"filter"` // the slowest filter; 0 where there was none
}

// Time is what a page says of its own times; mark is what it calls being ready.
func (p *Page) Time(mark string) Times {
	p.t.Helper()
	p.Await("performance.getEntriesByName('first-contentful-paint').length > 0")
	return Value[Times](p, `({paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, ready: performance.getEntriesByName("`+mark+`")[0]?.startTime ?? 0,
		filter: Math.max(0, ...performance.getEntriesByName("filter").map((m) => m.duration))})`)
}

// Judge logs times, and fails the test where one is above its bar and
// ASSAY_TEST_FULL is set: on a busy machine they say little.
func (p *Page) Judge(where string, got, bar Times) {
	p.t.Helper()
	p.t.Logf("%s: first paint %.0f ms (bar %.0f), usable %.0f ms (bar %.0f), slowest filter %.1f ms (bar %.0f)", where, got.Paint, bar.Paint, got.Ready, bar.Ready, got.Filter, bar.Filter)
	if os.Getenv("ASSAY_TEST_FULL") != "" && (got.Paint > bar.Paint || got.Ready > bar.Ready || got.Filter > bar.Filter) {
		p.t.Errorf("%s: %+v is above %+v", where, got, bar)
	}
}

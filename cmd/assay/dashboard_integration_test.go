//go:build integration

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/pagetest"
)

// dashboard starts the server and gives its address.
func (p *program) dashboard(t *testing.T) string {
	t.Helper()
	cmd := p.command(context.WithoutCancel(t.Context()), "serve", "--json") // Ctrl-C ends it, and not the test's end
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("Ctrl-C ended it with %v\n%s", err, complaints.String())
		}
	})
	var said struct{ URLs []string }
	if err := json.NewDecoder(out).Decode(&said); err != nil || len(said.URLs) == 0 {
		t.Fatalf("no address was printed: %v\n%s", err, complaints.String())
	}
	return strings.TrimSuffix(said.URLs[0], "/")
}

// known gives a program the results that Assay publishes.
func known(t *testing.T, p *program) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "tables", "*.jsonl.br"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no published journals: %v", err)
	}
	for i, f := range found {
		if found[i], err = filepath.Abs(f); err != nil {
			t.Fatal(err)
		}
	}
	p.ok(t, append([]string{"import"}, found[:min(4, len(found))]...)...)
}

// pagesOfDash are those that need no name; others come with what was run.
var pagesOfDash = []string{"/", "/matrix", "/model/bert", "/model/openai/whisper-tiny", "/platform/qnn", "/hosts", "/fleet", "/runs", "/compare", "/trends", "/plots", "/report", "/start", "/pool", "/quality", "/findings", "/method", "/nosuch"}

// TestIntegrationDashboard opens every page in each view, with published results
// behind it, and uses every form: a run is started, followed, opened, retried and
// compared, and a report is made, saved and deleted.
func TestIntegrationDashboard(t *testing.T) {
	t.Parallel()
	tour(t, pagetest.On(t, pagetest.Chromium(t)), pagetest.Views()...)
}

// TestIntegrationDashboardInFirefox does the same in Firefox, whose scheme of colours is set when it starts.
func TestIntegrationDashboardInFirefox(t *testing.T) {
	t.Parallel()
	tab := pagetest.Firefox(t, true)
	tour(t, pagetest.On(t, tab), pagetest.View{Name: "firefox", Width: 1360, Height: 900, Dark: true}, pagetest.View{Name: "firefox-phone", Width: 390, Height: 844, Dark: true})
}

// tour uses the forms and then opens every page in each of the views.
func tour(t *testing.T, p *pagetest.Page, views ...pagetest.View) {
	t.Helper()
	prog := withWeb(t)
	known(t, prog)
	base := prog.dashboard(t)
	axe, err := os.ReadFile(filepath.Join("..", "..", "runtimes", "web", "dash", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("%v (make pages installs it)", err)
	}
	run, result := startedRun(t, p, base)
	compared(t, p, base, run)
	reported(t, p, base)
	numbers(t, p, base)
	p.Clean("forms")
	for i, v := range views {
		for _, name := range append([]string{"/run/" + run, "/result/" + result}, pagesOfDash...) {
			if written := name == "/findings" || name == "/method"; written && i > 0 {
				continue // the site's test looks at these
			}
			where := name + " " + v.Name
			p.Visit(base+name, v)
			p.Keep("dash" + name + "-" + v.Name)
			p.Clean(where)
			if wide := pagetest.Value[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				t.Errorf("%s: the page is %d px too wide", where, wide)
			}
			p.Audit(where, string(axe))
			p.Problems() // those of the check itself
		}
	}
}

// press clicks the button of this text.
func press(text string) string {
	return "[...document.querySelectorAll('button')].find((b) => b.textContent.startsWith('" + text + "')).click()"
}

// set gives a field its value.
func set(name, value string) string {
	return "document.querySelector('[name=" + name + "]').value = '" + value + "'"
}

// startedRun starts a run from the form and follows it to its end and to its
// result's command, log, versions and samples.
func startedRun(t *testing.T, p *pagetest.Page, base string) (run, result string) {
	t.Helper()
	p.Visit(base+"/runs", pagetest.Desktop) // one that is stored can be run again, too
	p.Do("document.querySelector('main a[href^=\"/run/\"]').click()")
	p.Await("location.pathname.startsWith('/run/') && [...document.querySelectorAll('button')].some((b) => b.textContent === 'Run all again')")
	p.Visit(base+"/start", pagetest.Desktop)
	p.Do(set("models", "nosuchmodel"))
	p.Do(press("Start"))
	p.Await("document.querySelector('[role=alert]')?.textContent.includes('nosuchmodel')")
	p.Problems() // the browser logs that the server refused it
	p.Do(set("models", "bert"))
	p.Do(set("targets", "cpu"))
	p.Do(set("name", "mine"))
	p.Do(press("Start"))
	p.Await("location.pathname.startsWith('/run/') && document.documentElement.dataset.ready === 'yes'")
	p.Keep("dash-live")
	p.Await("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Run all again') && document.querySelector('.list .badge')?.textContent.includes('works')")
	run = pagetest.Value[string](p, "location.pathname.slice(5)")
	p.Await("document.querySelector('a[href^=\"/result/\"]') !== null")
	result = pagetest.Value[string](p, "document.querySelector('a[href^=\"/result/\"]').pathname.slice(8)")
	p.Do("document.querySelector('a[href^=\"/result/\"]').click()")
	p.Await("location.pathname.startsWith('/result/') && document.documentElement.dataset.ready === 'yes' && ['assay test bert', 'Versions', 'transformers', 'Log'].every((w) => document.body.innerText.includes(w))")
	p.Visit(base+"/run/"+run, pagetest.Desktop)
	p.Do(press("Run all again"))
	p.Await("location.pathname.startsWith('/run/') && !location.pathname.endsWith('" + run + "') && document.documentElement.dataset.ready === 'yes'")
	p.Await("[...document.querySelectorAll('button')].some((b) => ['Cancel', 'Run all again'].includes(b.textContent))")
	p.Do("[...document.querySelectorAll('button')].find((b) => ['Cancel', 'Run all again'].includes(b.textContent)).textContent === 'Cancel' && " + press("Cancel"))
	p.Await("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Run all again')")
	return run, result
}

// compared compares a run with itself and with nothing.
func compared(t *testing.T, p *pagetest.Page, base, run string) {
	t.Helper()
	p.Visit(base+"/compare#a="+run+"&b="+run, pagetest.Desktop)
	p.Await("document.querySelector('#compared [data-outcome]') !== null || document.querySelector('[role=alert]') !== null")
	p.Keep("dash-compared")
	p.Do(set("a", "nosuchrun"))
	p.Do(press("Compare"))
	p.Await("document.querySelector('[role=alert]')?.textContent.includes('nosuchrun')")
	p.Problems() // the browser logs that the server refused it
	p.Visit(base+"/trends#platform=cpu", pagetest.Desktop)
	p.Await("document.getElementById('series').textContent !== ''")
	p.Do(set("steps", "true"))
	p.Do(press("Show"))
	p.Await("location.hash.includes('steps=true')")
}

// reported makes, saves and deletes a report.
func reported(t *testing.T, p *pagetest.Page, base string) {
	t.Helper()
	p.Visit(base+"/report", pagetest.Desktop)
	p.Do(set("models", "bert,vit"))
	p.Do("document.querySelector('[name=platforms][value=cuda]').click()")
	p.Do(press("Preview"))
	p.Await("document.querySelector('iframe.preview') !== null && document.querySelectorAll('#preview a[download]').length === 5")
	p.Keep("dash-preview")
	p.Do(set("name", "weekly"))
	p.Do(press("Save"))
	p.Await("document.querySelector('#saved')?.innerText.includes('weekly')")
	p.Do("document.querySelector('[aria-label=\"Delete weekly\"]').click()")
	p.Await("document.querySelector('#saved').innerText.includes('No report is saved yet')")
}

// numbers reaches a cell's proof in two clicks.
func numbers(t *testing.T, p *pagetest.Page, base string) {
	t.Helper()
	p.Visit(base+"/matrix#q=bert&own=1", pagetest.Desktop)
	p.Do("document.querySelector('button[data-model=bert][data-target=cuda]').click()")
	p.Await("document.querySelector('dialog .ways a:last-child')?.textContent.startsWith('Results')")
	p.Do("document.querySelector('dialog .ways a:last-child').click()")
	p.Await("location.pathname === '/model/bert' && [...document.querySelectorAll('a')].some((a) => a.textContent === 'Command, log, versions, samples')")
}

// TestIntegrationDashboardTimes measures the overview and the matrix with their
// server beside them. Only make test-full judges: the machine must be quiet.
func TestIntegrationDashboardTimes(t *testing.T) {
	p := pagetest.On(t, pagetest.Chromium(t))
	prog := newProgram(t)
	known(t, prog)
	base := prog.dashboard(t)
	for _, name := range []string{"/", "/matrix"} { // what is read once is read now
		p.Visit(base+name, pagetest.Desktop)
	}
	p.Visit(base+"/", pagetest.Desktop)
	p.Judge("overview", p.Time("overview-ready"), pagetest.Times{Paint: 300, Ready: 1000})
	p.Visit(base+"/matrix", pagetest.Desktop)
	p.Do("document.querySelector('.find').focus()")
	p.Write("transformer")
	p.Await("location.hash === '#q=transformer'")
	p.Judge("matrix", p.Time("matrix-ready"), pagetest.Times{Paint: 300, Ready: 1000, Filter: 100})
}

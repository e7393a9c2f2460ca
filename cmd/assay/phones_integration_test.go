//go:build integration

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"

	"github.com/chromedp/chromedp"
)

// lending starts a worker whose targets are the browsers of those who open its page, and returns the page's address.
func (p *program) lending(t *testing.T, at string) (url string, stop func()) {
	t.Helper()
	exe, err := builtWorker()
	if err != nil {
		t.Fatal(err)
	}
	w := exec.CommandContext(t.Context(), exe, append([]string{"join", at, "--name", "phones", "--web-lab", "127.0.0.1:0"}, p.globals...)...)
	w.Dir, w.Env, w.WaitDelay = p.dir, p.environ(), 5*time.Second
	said, err := w.StderrPipe()
	if err == nil {
		err = w.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for url == "" && lines.Scan() {
		t.Log(lines.Text())
		if i := strings.Index(lines.Text(), "http://"); i >= 0 {
			url = lines.Text()[i:]
		}
	}
	if url == "" {
		t.Fatal("the worker printed no address")
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	return url, func() {
		if err := w.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		<-rest
		if err := w.Wait(); w.ProcessState.ExitCode() != 0 {
			t.Errorf("Ctrl-C ended the worker with %v", err)
		}
	}
}

// TestIntegrationPhone: somebody opens the page of a worker, as on a phone; cells that are sent to the fleet run in that
// browser, and their results come home as that machine's. With the page closed nobody has its targets.
func TestIntegrationPhone(t *testing.T) {
	t.Parallel()
	tab, p := somebody(t), withWeb(t)
	at := p.coordinator(t)
	url, stop := p.lending(t, at)
	if err := chromedp.Do(tab, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	see(tab, t, `document.getElementById("status").textContent.startsWith("Waiting for cells")`)
	see(tab, t, `document.getElementById("lent").textContent.includes("worker phones as phones-1") && document.getElementById("choice").hidden`)
	r := p.report(t, 0, "test", "bert", "--platform", "cpu/wasm@chromium,webnn@chromium", "--strict", "--fleet", at)
	if len(r.Results) != 2 {
		t.Errorf("%d results", len(r.Results))
	}
	for _, x := range r.Results {
		if x.Verdict != cell.Works || !ranInPage(t, x) {
			t.Errorf("%s: %s, %+v", x.Cell.Target, x.Verdict, x.Failure)
		} else if x.Cell.Target == "webnn@chromium" {
			checkNothingOfHere(t, x)
		}
	}
	see(tab, t, `document.querySelectorAll("#rows tr .verdict").length === 2 && document.getElementById("status").textContent === "Waiting for cells. 2 cells done"`)
	found, err := filepath.Glob(filepath.Join(p.vars["ASSAY_HOME"], "data", "journals", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("journals %v, %v", found, err)
	}
	j, err := journal.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if h := j.Header(); !h.Imported || h.Host.ID == "" || h.Host.ID == "fleet" || h.Host.CPU != "" || h.Host.MemoryBytes != 0 {
		t.Errorf("the journal is of %+v", h.Host)
	}
	named := p.report(t, 0, "test", "vit", "--platform", "webnn@chromium", "--strict", "--on", "guest=phones-1", "--fleet", at)
	if len(named.Results) != 1 || named.Results[0].Verdict != cell.Works {
		t.Errorf("%+v", named.Results)
	}
	if text := p.ok(t, "fleet", "workers", "--fleet", at); !strings.Contains(text, "webnn@chromium (phones-1)") {
		t.Error(text)
	}
	if stdout, stderr, status := p.run(t, "test", "vit", "--platform", "webnn@chromium", "--strict", "--on", "guest=phones-2", "--fleet", at); status != exitUnavailable || !strings.Contains(stdout+stderr, "phones lacks the label guest=phones-2") {
		t.Errorf("a guest that is not there: status %d\n%s%s", status, stdout, stderr)
	}
	timed := p.report(t, 0, "bench", "bert", "--quick", "--platform", "cpu/wasm@chromium", "--strict", "--fleet", at)
	if len(timed.Results) != 1 || timed.Results[0].Latency == nil || timed.Results[0].Latency.MedianMS <= 0 {
		t.Errorf("%+v", timed.Results)
	}
	if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := p.run(t, "test", "vit", "--platform", "webnn@chromium", "--strict", "--fleet", at)
	if status != exitUnavailable || !strings.Contains(stdout+stderr, "phones lacks webnn@chromium") {
		t.Errorf("with the page closed: status %d\n%s%s", status, stdout, stderr)
	}
	stop()
}

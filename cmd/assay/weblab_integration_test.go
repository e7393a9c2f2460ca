//go:build integration

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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

// somebody is a person with the packed Chromium.
func somebody(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	web := packedWeb(t)
	if _, err := os.Stat(web.Chromium()); err != nil {
		t.Skipf("there is no packed Chromium for this system: %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(web.Chromium()), chromedp.Env(web.ChromiumEnv(t.Context())...),
		chromedp.Flag("enable-features", "WebMachineLearningNeuralNetwork"), chromedp.Flag("disable-dev-shm-usage", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	browser, stop := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	t.Cleanup(stop)
	tab, leave := chromedp.NewContext(browser)
	t.Cleanup(leave)
	return tab
}

// see waits until an expression of the page is true.
func see(tab context.Context, t *testing.T, expression string) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ok, err := chromedp.Run(tab, chromedp.Evaluate[bool](expression))
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		if ok {
			return
		}
	}
	text, err := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
	t.Fatalf("%s: not in four minutes; the page says %s (%v)", expression, text, err)
}

// served is a web lab under way.
type served struct {
	*exec.Cmd
	stderr strings.Builder
	urls   []string
}

func (p *program) serve(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{Cmd: p.command(t.Context(), append([]string{"serve", "--web-lab", "--json"}, args...)...)}
	s.Stderr = &s.stderr
	out, err := s.StdoutPipe()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ URLs []string }
	if err := json.NewDecoder(out).Decode(&said); err != nil || len(said.URLs) == 0 {
		t.Fatalf("no address was printed: %v\n%s", err, s.stderr.String())
	}
	s.urls = said.URLs
	return s
}

// TestIntegrationWebLab: somebody opens the lab, picks bert on WebNN and presses
// Run; the result comes here as their machine's.
func TestIntegrationWebLab(t *testing.T) {
	t.Parallel()
	tab, p := somebody(t), withWeb(t)
	lab := p.serve(t, "bert", "vit")
	if err := chromedp.Do(tab, chromedp.Navigate(lab.urls[0]), chromedp.WaitVisible("#choice")); err != nil {
		t.Fatal(err)
	}
	pick := `for (const box of document.querySelectorAll("input[type=checkbox]")) {
		if (box.checked !== ["0", "webnn@chromium"].includes(box.value)) box.click();
	}
	document.getElementById("run").click(); true`
	see(tab, t, pick)
	see(tab, t, `document.getElementById("status").textContent === "Done: 1 of 1."`)
	see(tab, t, `document.querySelector("#rows tr .verdict").textContent === "works"`)
	see(tab, t, `!document.getElementById("run").disabled && document.querySelectorAll("iframe").length === 0`)
	if err := lab.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := lab.Wait(); err != nil {
		t.Errorf("Ctrl-C ended it with %v\n%s", err, lab.stderr.String())
	}
	see(tab, t, `document.getElementById("alert").textContent.startsWith("Assay was stopped.")`)
	checkGuest(t, p)
	if n := p.count(t); n != 1 {
		t.Errorf("the store has %d results", n)
	}
}

// checkGuest reads the one journal: its host is the guest's machine as the
// browser told it, and so is everything in it.
func checkGuest(t *testing.T, p *program) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.vars["ASSAY_HOME"], "data", "journals", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("journals %v, %v", found, err)
	}
	r, err := journal.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h := r.Header()
	if h.Run.Command != "web-lab" || h.Host.ID == "" || h.Host.CPU != "" || h.Host.MemoryBytes != 0 || h.Host.OS != "linux" {
		t.Errorf("the run is %+v of %+v", h.Run, h.Host)
	}
	kinds := map[journal.Kind]int{}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds[line.Kind]++
		if line.Kind == journal.KindDetection && !strings.Contains(string(line.Detection), `"user_agent":"Mozilla/5.0`) {
			t.Errorf("the browser's details are not kept: %s", line.Detection)
		}
		if line.Kind == journal.KindResult && ranInPage(t, *line.Result) {
			checkNothingOfHere(t, *line.Result)
		}
	}
	if kinds[journal.KindDetection] != 1 || kinds[journal.KindResult] != 1 || kinds[journal.KindEnd] != 1 {
		t.Errorf("the journal has %v", kinds)
	}
}

// checkNothingOfHere wants a result without the state of the machine that only
// exported the model.
func checkNothingOfHere(t *testing.T, r cell.Result) {
	t.Helper()
	c := r.Context
	if c.Browser.Name != "chromium" || !strings.Contains(c.Browser.UserAgent, "HeadlessChrome") || r.Cell.Target != "webnn@chromium" {
		t.Errorf("the browser is %+v, the target %s", c.Browser, r.Cell.Target)
	}
	if c.LoadBefore != nil || c.ClockMHz != nil || c.Governor != "" || c.Affinity != 0 || r.Memory != nil || r.HarnessCPUFraction != nil {
		t.Errorf("it tells of this machine: %+v, %+v", c, r.Memory)
	}
}

package dash

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"

	"assay/internal/plan"
	"assay/internal/pool"
)

func into[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestOverviewTellsWhatChanged(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	o := into[Overview](t, x.must(200, "GET", "/v1/overview", ""))
	if o.Results != 3 || o.Runs != 2 || o.Models != 2 || o.Compared != 1 {
		t.Errorf("%+v", o)
	}
	if len(o.Changes) != 2 || o.Changes[0].Kind != "broken" || !o.Changes[0].Worse || o.Changes[0].Before.Result != "r1" || o.Changes[0].After.Result != "r3" || o.Changes[1].Kind != "first" {
		t.Errorf("%+v", o.Changes)
	}
	for _, c := range o.Coverage {
		if c.Complete || !strings.HasPrefix(c.Text, "incomplete, 2 of ") || c.WholeShare != nil {
			t.Errorf("a share of two models is shown: %+v", c)
		}
	}
}

// TestAnswersAreKept: a second asker gets the same bytes and reads nothing, and what
// it has already is not sent again.
func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	_, h, first := x.ask("GET", "/v1/overview", "")
	status, _, text := x.ask("GET", "/v1/overview", "", "If-None-Match", h.Get("ETag"))
	if status != http.StatusNotModified || text != "" {
		t.Errorf("%d %q", status, text)
	}
	if again := x.must(200, "GET", "/v1/overview", ""); again != first {
		t.Error("another answer")
	}
	if n := x.past.reads.Load(); n != 1 {
		t.Errorf("results were read %d times", n)
	}
	x.past.results = x.past.results[:2]
	x.past.stamp.Add(1)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if into[Overview](t, x.must(200, "GET", "/v1/overview", "")).Results == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a changed journal changed nothing")
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for _, path := range []string{"/", "/matrix", "/model/owner/name-1.1B", "/run/2026"} {
		if text := x.must(200, "GET", path, ""); !strings.Contains(text, "<title>page</title>") {
			t.Errorf("%s: %s", path, text)
		}
	}
	x.must(404, "GET", "/missing.js", "")
	x.must(404, "GET", "/v1/missing", "")
	for _, c := range []struct{ method, path, allow string }{{"POST", "/matrix", "GET"}, {"PUT", "/v1/overview", "GET"}, {"GET", "/v1/query", "POST"}, {"DELETE", "/v1/reports", "GET, POST"}} {
		status, h, text := x.ask(c.method, c.path, "")
		if status != 405 || h.Get("Allow") != c.allow || !strings.Contains(h.Get("Content-Type"), "problem+json") {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, status, h, text)
		}
	}
	x.must(404, "POST", "/v1/missing", "")
	_, h, _ := x.ask("GET", "/app.12345678.js", "")
	if !strings.Contains(h.Get("Cache-Control"), "immutable") || !strings.HasPrefix(h.Get("Content-Type"), "text/javascript") {
		t.Errorf("%v", h)
	}
}

func TestRunIsWatched(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	x.lab.hold = make(chan struct{})
	b := into[Begun](t, x.must(202, "POST", "/v1/runs", `{"models":["bert","vit"],"targets":["cpu"]}`))
	if b.Cells != 2 {
		t.Errorf("%+v", b)
	}
	const viewers = 8
	var all sync.WaitGroup
	seen := make([]string, viewers)
	for i := range viewers {
		all.Go(func() { seen[i] = names(t, x.url+"/v1/runs/"+b.ID+"/events") })
	}
	close(x.lab.hold)
	all.Wait()
	for _, s := range seen {
		if want := "state " + "state planned started finished started finished end"; s != want {
			t.Errorf("a viewer saw %q", s)
		}
	}
	p := into[RunPage](t, x.must(200, "GET", "/v1/runs/"+b.ID, ""))
	if p.Live == nil || p.Live.State != "finished" || p.Live.Done != 2 || len(p.Results) != 2 {
		t.Errorf("%+v", p)
	}
	if s := names(t, x.url+"/v1/runs/"+b.ID+"/events?after=5"); s != "started finished end" {
		t.Errorf("after the fifth: %q", s)
	}
}

// names are those of the events of a stream, until it ends.
func names(t *testing.T, url string) string {
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Body.Close()
	var out []string
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

func TestRunIsCancelledAndRetried(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	x.lab.hold = make(chan struct{})
	b := into[Begun](t, x.must(202, "POST", "/v1/runs", `{"models":["bert"],"targets":["cpu"]}`))
	x.must(202, "POST", "/v1/runs/"+b.ID+"/cancel", "")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		p := into[RunPage](t, x.must(200, "GET", "/v1/runs/"+b.ID, ""))
		if p.Live.State == "cancelled" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", p.Live)
		}
	}
	again := into[Begun](t, x.must(202, "POST", "/v1/runs/b/retry", ""))
	if again.Cells != 1 {
		t.Errorf("the one that fails: %+v", again)
	}
	all := into[Begun](t, x.must(202, "POST", "/v1/runs/b/retry?only=all", ""))
	if all.Cells != 2 {
		t.Errorf("all: %+v", all)
	}
	x.must(422, "POST", "/v1/runs/a/retry", "")
	x.must(404, "POST", "/v1/runs/nothing/retry", "")
	x.must(404, "POST", "/v1/runs/nothing/cancel", "")
	x.must(422, "POST", "/v1/runs", `{}`)
	x.must(422, "POST", "/v1/runs", `{"models":["nosuchmodel"],"targets":["cpu"]}`)
	x.must(422, "POST", "/v1/runs", `{"modells":["bert"]}`)
}

func TestResultHasItsCommandAndLog(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	w := into[Whole](t, x.must(200, "GET", "/v1/results/r3", ""))
	if w.Command != "assay test bert --platform cpu --dtype fp32" || w.Result.Failure.Log == "" || w.Run == nil {
		t.Errorf("%+v", w)
	}
	log := x.must(200, "GET", "/v1/runs/b/log", "")
	if !strings.Contains(log, "line two") || !strings.Contains(log, "vit on cpu: works") {
		t.Error(log)
	}
	if tail := x.must(200, "GET", "/v1/runs/b/log?bytes=8", ""); len(tail) > 8 {
		t.Errorf("%q", tail)
	}
	x.must(404, "GET", "/v1/results/nothing", "")
	l := into[ResultList](t, x.must(200, "GET", "/v1/results?model=bert&limit=1", ""))
	if l.Total != 2 || len(l.Results) != 1 || l.Results[0].ID != "r3" {
		t.Errorf("%+v", l)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	x.must(201, "POST", "/v1/reports", `{"name":"mine","models":["bert"],"title":"Bert"}`)
	l := into[SavedReports](t, x.must(200, "GET", "/v1/reports", ""))
	if len(l.Reports) != 1 || l.Reports[0].Name != "mine" || len(l.Reports[0].Files) == 0 {
		t.Fatalf("%+v", l)
	}
	status, h, text := x.ask("GET", "/v1/reports/mine/report.md", "")
	if status != 200 || !strings.Contains(text, "bert") || strings.Contains(text, "vit") || !strings.Contains(h.Get("Content-Disposition"), "mine-report.md") {
		t.Errorf("%d %v %s", status, h, text)
	}
	x.must(422, "POST", "/v1/reports", `{"name":"none","models":["gpt2"]}`)
	x.must(200, "DELETE", "/v1/reports/mine", "")
	x.must(404, "DELETE", "/v1/reports/mine", "")
}

// TestBusy: who is to come back later is told when.
func TestBusy(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	x.must(200, "POST", "/v1/models/bert/run", `{"input":"some text","platform":"cpu"}`)
	x.must(422, "POST", "/v1/models/bert/run", `{}`)
	x.must(422, "POST", "/v1/models/bert/run", `{"arrays":{}}`)
	x.must(422, "POST", "/v1/models/bert/run", `{"input":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`)
	x.must(422, "POST", "/v1/models/bert/batch", `{"inputs":[`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`]}`)
	x.must(422, "POST", "/v1/models/bert/run", `{"input":"x","platform":"nonsense"}`)
	x.pool.err = &pool.RefusedError{Kind: pool.UnknownModel, Err: &plan.RequestError{Err: errors.New("unknown model")}}
	x.must(404, "POST", "/v1/models/nosuch/run", `{"input":"x"}`)
	x.must(422, "POST", "/v1/models/bert/batch", `{"inputs":[]}`)
	x.pool.err = &pool.BusyError{Queue: true, Why: "full", Seconds: 3}
	status, h, _ := x.ask("POST", "/v1/models/bert/run", `{"input":"x"}`)
	if status != 429 || h.Get("Retry-After") != "3" {
		t.Errorf("%d %v", status, h)
	}
	x.pool.err = &pool.BusyError{Why: "memory"}
	if status, h, _ := x.ask("POST", "/v1/models/bert/run", `{"input":"x"}`); status != 503 || h.Get("Retry-After") == "" {
		t.Errorf("%d %v", status, h)
	}
}

// TestCompared: a comparison comes with what it comes to and how far to trust it, in the words of the command.
func TestCompared(t *testing.T) {
	t.Parallel()
	text := start(t, nil).must(200, "GET", "/v1/compare?a=previous&b=latest", "")
	if !strings.Contains(text, `"verdict":"same"`) || !strings.Contains(text, "false verdicts of this method") {
		t.Error(text)
	}
}

// TestEmptyListsAreLists: what has nothing in it is an empty list, and not null.
func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	x := start(t, func(o *Options) { o.Past = &fakePast{} })
	for path, want := range map[string]string{"/v1/runs": `"runs":[]`, "/v1/results": `"results":[]`, "/v1/overview": `"recent":[]`, "/v1/hosts": `"hosts":`, "/v1/trends": `"series":[]`, "/v1/live": `"runs":[]`, "/v1/reports": `"reports":[]`} {
		if text := x.must(200, "GET", path, ""); !strings.Contains(text, want) || strings.Contains(text, ":null") && path != "/v1/hosts" {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// TestSlashInAName: who writes a checkpoint's slash as it is, is told how it is written.
func TestSlashInAName(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for _, how := range []string{"GET /v1/models/openai/whisper-tiny", "POST /v1/models/openai/whisper-tiny/run"} {
		method, path, _ := strings.Cut(how, " ")
		if text := x.must(404, method, path, ""); !strings.Contains(text, "%2F") {
			t.Errorf("%s: %s", how, text)
		}
	}
	if text := x.must(404, "GET", "/v1/nosuch", ""); strings.Contains(text, "%2F") {
		t.Error(text)
	}
}

// TestFirstFailureSaysWhy: a first result that does not work says why, and one that works says nothing.
func TestFirstFailureSaysWhy(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	partial := result("r2", "a", "vit", "cpu", cell.Partial, at)
	partial.Result.Note = "half of it"
	x := start(t, func(o *Options) {
		o.Past = &fakePast{results: []Stored{result("r1", "a", "bert", "cpu", cell.Fails, at), partial, result("r3", "a", "t5", "cpu", cell.Works, at)}}
	})
	want := map[string]string{"bert": "model-error: it broke", "vit": "half of it", "t5": ""}
	for _, c := range into[Overview](t, x.must(200, "GET", "/v1/overview", "")).Changes {
		if c.Why != want[c.Model] {
			t.Errorf("%s: %q", c.Model, c.Why)
		}
	}
}

// TestModelHasItsResults: a model's page has what ran, from memory.
func TestModelHasItsResults(t *testing.T) {
	t.Parallel()
	text := start(t, nil).must(200, "GET", "/v1/models/bert", "")
	if !strings.Contains(text, `"verdict":"fails"`) || strings.Contains(text, `"verdict":"works"`) {
		t.Error(text)
	}
}

package dash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/detect"
	"assay/internal/live"
	"assay/internal/matrix"
	"assay/internal/modelpage"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/pool"
	"assay/internal/progress"
)

// fakePast are results in memory.
type fakePast struct {
	results []Stored
	runs    []Run
	stamp   atomic.Int64
	reads   atomic.Int64
	query   func(context.Context) error // what a question waits for; nil is nothing
}

func (f *fakePast) Stamp() (string, error) { return fmt.Sprint(f.stamp.Load()), nil }

func (f *fakePast) Results(context.Context) ([]Stored, []cell.Host, error) {
	f.reads.Add(1)
	return f.results, []cell.Host{{ID: "h1", CPU: "a processor"}}, nil
}
func (f *fakePast) Runs(context.Context) ([]Run, error) { return f.runs, nil }
func (f *fakePast) Whole(_ context.Context, id string) (Stored, bool, error) {
	for _, x := range f.results {
		if x.ID == id {
			return x, true, nil
		}
	}
	return Stored{}, false, nil
}

func (f *fakePast) Logs(_ context.Context, run string) ([]Stored, error) {
	var out []Stored
	for _, x := range f.results {
		if x.Run == run {
			out = append(out, x)
		}
	}
	return out, nil
}

func (f *fakePast) Compare(context.Context, Comparison) (compare.Report, error) {
	return compare.Report{Schema: 1, Outcome: compare.Same}, nil
}

func (f *fakePast) Query(ctx context.Context, sql string) ([]byte, error) {
	if f.query != nil {
		if err := f.query(ctx); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(strings.ToLower(sql), "select") {
		return nil, &WrongError{errors.New("not a question")}
	}
	if strings.Contains(sql, "<script>") {
		return []byte(`{"schema":1,"rows":[{"x":"<script>"}]}`), nil
	}
	return []byte(`{"schema":1,"rows":[{"x":1}]}`), nil
}

// fakeLab carries plans out by saying so.
type fakeLab struct {
	catalog *catalog.Catalog
	begun   atomic.Int64
	hold    chan struct{} // a run waits for it; nil does not
}

func (f *fakeLab) Begin(_ context.Context, r plan.Request, name string) (live.Work, error) {
	p, err := (&plan.Planner{Catalog: f.catalog}).Plan(context.Background(), r)
	if err != nil {
		return live.Work{}, err
	}
	id := fmt.Sprintf("run-%d", f.begun.Add(1))
	return live.Work{
		Run: cell.Run{ID: id, Name: name, Command: "serve", StartedAt: time.Now().UTC()}, Host: cell.Host{ID: "h1"}, Plan: p, Drop: func() error { return nil },
		Carry: func(ctx context.Context, on progress.Listener) error {
			_ = on.Hear(progress.Planned(len(p.Cells)))
			for _, c := range p.Cells {
				_ = on.Hear(progress.Started(c))
				if f.hold != nil {
					select {
					case <-f.hold:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				_ = on.Hear(progress.Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, StartedAt: time.Now().UTC()}))
			}
			return nil
		},
	}, nil
}

func (f *fakeLab) Detect(context.Context) (detect.Report, error) {
	return detect.Report{Schema: 1}, nil
}

func (f *fakeLab) Ask(_ context.Context, name string) (atlas.Model, error) {
	return atlas.Model{Name: name, Type: name}, nil
}

func (f *fakeLab) Visit(context.Context, platform.Target) (string, func() error, error) {
	return "http://127.0.0.1:1/visits/x", func() error { return nil }, nil
}

func (f *fakeLab) Page(_ context.Context, look plan.Look, past func(string) []matrix.Observation) (modelpage.Page, error) {
	return modelpage.Page{Schema: 1, Size: "tiny", Ran: modelpage.Latest(past(look.Model))}, nil
}

// fakeModels answer with what they were asked.
type fakeModels struct {
	err   error
	takes time.Duration
}

func (f *fakeModels) Call(ctx context.Context, r pool.Request) (pool.Answer, error) {
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		return pool.Answer{}, context.Cause(ctx)
	}
	if f.err != nil {
		return pool.Answer{}, f.err
	}
	return pool.Answer{Output: r.Args, Settings: json.RawMessage(`{"platform":"cpu"}`), Fallback: []pool.Step{}}, nil
}
func (f *fakeModels) Status() pool.Status      { return pool.Status{Schema: 1} }
func (f *fakeModels) Release(key string) error { return nil }

func result(id, run, model, target string, v cell.Verdict, at time.Time) Stored {
	t, err := platform.ParseTarget(target)
	if err != nil {
		panic(err)
	}
	c := cell.Cell{Type: model, Family: "encoder-only", Size: cell.Tiny}.On(t)
	r := cell.Result{Cell: c, Verdict: v, Evidence: cell.Measured, Timing: cell.Functional, Requested: cell.SettingsOf(c), StartedAt: at, Outputs: []cell.Output{}}
	if v == cell.Fails {
		r.Failure = &cell.Failure{Class: cell.ModelError, Detail: "it broke", Log: "line one\nline two"}
	}
	return Stored{ID: id, Run: run, Host: "h1", Result: r}
}

// tester is a server for tests.
type tester struct {
	*Server
	url  string
	past *fakePast
	lab  *fakeLab
	pool *fakeModels
	t    *testing.T
}

func start(t *testing.T, change func(*Options)) *tester {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	past := &fakePast{
		results: []Stored{
			result("r3", "b", "bert", "cpu", cell.Fails, day.Add(48*time.Hour)), result("r2", "b", "vit", "cpu", cell.Works, day.Add(47*time.Hour)),
			result("r1", "a", "bert", "cpu", cell.Works, day),
		},
		runs: []Run{{ID: "b", StartedAt: day.Add(47 * time.Hour), Results: 2, Host: cell.Host{ID: "h1"}}, {ID: "a", StartedAt: day, Results: 1, Host: cell.Host{ID: "h1"}}},
	}
	lab, models := &fakeLab{catalog: cat}, &fakeModels{}
	o := Options{
		Version: "test", Catalog: cat, Past: past, Lab: lab, Models: models, Now: time.Now, Reports: t.TempDir(),
		Site: fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>page</title>")}, "app.12345678.js": {Data: []byte("let x")}, "app.css": {Data: []byte("a{}")}},
	}
	if change != nil {
		change(&o)
	}
	s := New(o)
	_, _ = s.snapshots.get(t.Context()) // what New reads by itself is read: tests change the past
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return &tester{s, server.URL, past, lab, models, t}
}

// ask makes a request and returns the status, the headers and the body.
func (x *tester) ask(method, path, body string, headers ...string) (int, http.Header, string) {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), method, x.url+path, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		x.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// must is ask where another status is a failure.
func (x *tester) must(status int, method, path, body string, headers ...string) string {
	x.t.Helper()
	got, _, text := x.ask(method, path, body, headers...)
	if got != status {
		x.t.Fatalf("%s %s: %d instead of %d: %s", method, path, got, status, text)
	}
	return text
}

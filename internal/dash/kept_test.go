package dash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/live"
	"assay/internal/platform"
)

// TestKeptAnswersAreBounded: filters are the askers', and so is how much their answers take together.
func TestKeptAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := &snapshot{answers: map[string]*kept{}}
	for i := range 40 {
		if _, err := s.answer(fmt.Sprint(i), func() (*body, error) { return newBody(make([]byte, 8<<20)), nil }); err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, k := range s.answers {
			held += len(k.body.plain)
		}
		if held > mostKept+8<<20 {
			t.Fatalf("%d bytes are kept after %d answers", held, i+1)
		}
	}
}

// TestAgesGoOn: what is said of ages holds on the day on which it is said, though no result came since.
func TestAgesGoOn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	x := start(t, func(o *Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	if s := into[Overview](t, x.must(200, "GET", "/v1/overview", "")).Stale; s.Cells != 0 || s.Of != 2 {
		t.Errorf("%+v", s)
	}
	mu.Lock()
	now = now.AddDate(0, 2, 0)
	mu.Unlock()
	if s := into[Overview](t, x.must(200, "GET", "/v1/overview", "")).Stale; s.Cells != 2 {
		t.Errorf("two months later: %+v", s)
	}
}

// TestSpeedOfWhatWasTimed: a check that came before the timing is not what became slower.
func TestSpeedOfWhatWasTimed(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	timed := func(id, run string, ms float64, at time.Time) Stored {
		r := result(id, run, "gpt2", "cpu", cell.Works, at)
		r.Result.Timing = cell.Full
		r.Result.Latency = &cell.Latency{Repeats: 8, N: 8, MedianMS: ms, Stable: true}
		for i := range 8 {
			r.Result.Latency.SamplesMS = append(r.Result.Latency.SamplesMS, []float64{ms * (1 + 0.001*float64(i))})
		}
		return r
	}
	x.past.results = []Stored{
		timed("t2", "d", 20, day.Add(30*time.Hour)), timed("t1", "c", 10, day.Add(29*time.Hour)),
		result("c2", "b", "gpt2", "cpu", cell.Works, day.Add(2*time.Hour)), result("c1", "a", "gpt2", "cpu", cell.Works, day.Add(time.Hour)),
	}
	x.past.runs = nil
	for _, id := range []string{"d", "c", "b", "a"} {
		x.past.runs = append(x.past.runs, Run{ID: id, StartedAt: day, Host: cell.Host{ID: "h1"}})
	}
	x.past.stamp.Add(1)
	snap, err := x.snapshots.fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := changes(snap, snap.lasts())
	if len(all) != 1 || all[0].Kind != "slower" || all[0].After.Result != "t2" || all[0].Before.Result != "t1" || all[0].After.MedianMS == nil {
		t.Errorf("%+v", all)
	}
}

// slowLab opens pages when it is let.
type slowLab struct {
	*fakeLab
	opening chan struct{}
	let     chan struct{}
	mu      sync.Mutex
	open    int
}

func (l *slowLab) Visit(context.Context, platform.Target) (string, func() error, error) {
	l.opening <- struct{}{}
	<-l.let
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return "http://127.0.0.1:1/x", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		return nil
	}, nil
}

// TestVisitsAreCounted: no more pages are open, or being opened, than may be; and none stays open that nobody can
// give back, because its asker is gone or the server has ended.
func TestVisitsAreCounted(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	lab := &slowLab{fakeLab: x.lab, opening: make(chan struct{}, 100), let: make(chan struct{})}
	x.o.Lab = lab
	in := &VisitBody{local: true}
	in.Body.Target = "webgpu"
	answers := make(chan error, 40)
	for range 20 {
		go func() { _, err := x.visit(context.Background(), in); answers <- err }()
	}
	for range 20 - mostVisits { // those beyond are refused at once
		if err := <-answers; err == nil {
			t.Error("one too many is open")
		}
	}
	close(lab.let)
	for range mostVisits {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.visits.close(); err != nil || lab.open != 0 {
		t.Errorf("%d stay open: %v", lab.open, err)
	}
	y := start(t, nil)
	y.o.Lab = lab
	if _, err := y.visit(gone, in); !errors.Is(err, live.ErrClosed) || lab.open != 0 {
		t.Errorf("the asker is gone, and %d are open: %v", lab.open, err)
	}
	if _, err := x.visit(context.Background(), in); err == nil || lab.open != 0 {
		t.Errorf("the server has ended, and %d are open: %v", lab.open, err)
	}
}

// count is how many pages are open.
func (l *slowLab) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// TestVisitsEndWithTheirHolder: a page is given back when the connection that held it is gone, or when nobody came to
// hold it, and not before.
func TestVisitsEndWithTheirHolder(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	lab := &slowLab{fakeLab: x.lab, opening: make(chan struct{}, 100), let: make(chan struct{})}
	close(lab.let)
	x.o.Lab, x.visits.within = lab, time.Second
	open := func() (id string) {
		t.Helper()
		var told struct{ ID string }
		if err := json.Unmarshal([]byte(x.must(201, "POST", "/v1/visits", `{"target":"webgpu"}`)), &told); err != nil {
			t.Fatal(err)
		}
		return told.ID
	}
	await := func(n int) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); lab.count() != n; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d pages are open, and not %d", lab.count(), n)
			}
		}
	}
	back := open()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		x.must(200, "GET", "/v1/visits/"+back+"/hold", "") // to its end
	}()
	for held := 0; held == 0; time.Sleep(time.Millisecond) {
		x.visits.mu.Lock()
		held = x.visits.open[back].held
		x.visits.mu.Unlock()
	}
	x.must(200, "DELETE", "/v1/visits/"+back, "")
	<-ended
	await(0)
	held := open()
	ctx, die := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, x.url+"/v1/visits/"+held+"/hold", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	defer answer.Body.Close()
	open() // nobody holds this one
	await(1)
	time.Sleep(100 * time.Millisecond)
	await(1) // the other one is held
	die()
	await(0)
	x.must(404, "DELETE", "/v1/visits/"+held, "")
	x.must(404, "GET", "/v1/visits/"+held+"/hold", "")
	x.must(200, "DELETE", "/v1/visits/"+open(), "")
	await(0)
}

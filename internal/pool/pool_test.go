package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fakes are models in memory that know how much they take.
type fakes struct {
	need   int64 // of each
	really func(model string) int64
	places []Place
	fail   map[string]Kind // a target's loads end so
	slow   time.Duration
	hang   bool // loads last until they are cancelled

	used, most, open, loads atomic.Int64
}

func (f *fakes) Find(_ context.Context, r Request) (Subject, []Place, error) {
	if r.Model == "nosuch" {
		return Subject{}, nil, &RefusedError{UnknownModel, errors.New("no such model")}
	}
	places := f.places
	if places == nil {
		places = []Place{{Target: "cpu", DType: "fp32"}}
	}
	out := make([]Place, len(places))
	for i, p := range places {
		p.Need.Host = max(p.Need.Host, f.need)
		out[i] = p
	}
	return Subject{Key: r.Model, Name: r.Model}, out, nil
}

func (f *fakes) Load(ctx context.Context, s Subject, p Place, _ Loaded) (Loaded, error) {
	if kind := f.fail[p.Target]; kind != "" {
		return nil, &RefusedError{kind, errors.New("not there")}
	}
	if f.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(f.slow)
	took := f.need
	if f.really != nil {
		took = f.really(s.Name)
	}
	f.loads.Add(1)
	f.open.Add(1)
	f.grow(took)
	return &fake{f: f, name: s.Name, took: took}, nil
}

func (f *fakes) grow(n int64) {
	now := f.used.Add(n)
	for {
		most := f.most.Load()
		if now <= most || f.most.CompareAndSwap(most, now) {
			return
		}
	}
}

type fake struct {
	f      *fakes
	name   string
	took   int64
	more   atomic.Int64 // that a call takes
	closed atomic.Bool
	inside atomic.Int64
}

func (m *fake) Call(ctx context.Context, op Op, args json.RawMessage) (json.RawMessage, error) {
	if m.inside.Add(1) != 1 || m.closed.Load() {
		return nil, errors.New("used twice at once, or after its end")
	}
	defer m.inside.Add(-1)
	if m.f.slow > 0 {
		time.Sleep(time.Duration(rand.Int64N(int64(m.f.slow))))
	}
	var x struct{ Input string }
	if err := json.Unmarshal(args, &x); err != nil {
		return nil, &RefusedError{BadInput, err}
	}
	switch x.Input {
	case "break":
		return nil, errors.New("the process ended")
	case "forever":
		<-ctx.Done()
		return nil, ctx.Err()
	case "large":
		m.more.Store(1000)
	case "swell": // and end with what is taken
		m.more.Store(1000)
		for !m.closed.Load() {
			time.Sleep(time.Millisecond)
		}
		return nil, errors.New("the process ended")
	}
	return json.Marshal(m.name + ":" + x.Input)
}
func (m *fake) Settings() json.RawMessage { return json.RawMessage(`{"asked":"x"}`) }
func (m *fake) Parts() []string           { return nil }
func (m *fake) Memory() (Bytes, bool)     { return Bytes{Host: m.took + m.more.Load()}, true }
func (m *fake) Close() error {
	if m.closed.Swap(true) {
		return errors.New("closed twice")
	}
	m.f.open.Add(-1)
	m.f.used.Add(-m.took)
	return nil
}

func ask(model, input string) Request {
	args, _ := json.Marshal(map[string]string{"input": input})
	return Request{Model: model, Op: Run, Args: args}
}

// TestMixedRequests: 200 requests over five models with room for three. Every answer
// is of the model that was asked, the limit is never passed, and nothing stays.
func TestMixedRequests(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 100, slow: 2 * time.Millisecond}
	p := New(f, Limits{Host: 350, InFlight: 6, Queue: 200, Call: time.Minute, Load: time.Minute, Watch: time.Millisecond}, time.Now)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			model, input := fmt.Sprintf("m%d", rand.IntN(5)), fmt.Sprint(i)
			a, err := p.Call(t.Context(), ask(model, input))
			if want := fmt.Sprintf("%q", model+":"+input); err != nil || string(a.Output) != want {
				t.Errorf("%s instead of %s: %v", a.Output, want, err)
			}
		})
	}
	all.Wait()
	if most := f.most.Load(); most > 350 || most < 300 {
		t.Errorf("%d of 350 were taken at most", most)
	}
	s := p.Status()
	if s.Counters.PeakBytes > 350 || s.InFlight != 0 || s.Queue.Length != 0 || s.Counters.Evictions == 0 || s.UsedBytes > 350 {
		t.Errorf("%+v", s)
	}
	if err := p.Close(); err != nil || f.open.Load() != 0 || f.used.Load() != 0 {
		t.Errorf("%d models and %d bytes stay: %v", f.open.Load(), f.used.Load(), err)
	}
	if _, err := p.Call(t.Context(), ask("m0", "x")); err == nil {
		t.Error("a closed pool answers")
	}
}

// TestLimitsHold tries pools of all shapes: whatever is asked, neither limit is passed.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 120), 1, 6).Draw(rt, "sizes")
		limit := rapid.Int64Range(60, 250).Draw(rt, "limit")
		inFlight := rapid.IntRange(1, 4).Draw(rt, "in flight")
		f := &fakes{need: 1, really: func(m string) int64 { return sizes[int(m[1]-'0')] }}
		p := New(f, Limits{Host: limit, InFlight: inFlight, Queue: 100, Call: time.Minute, Load: time.Minute}, time.Now)
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				name := fmt.Sprintf("m%d", i%len(sizes))
				a, err := p.Call(context.Background(), ask(name, "x"))
				if err == nil && string(a.Output) != `"`+name+`:x"` {
					rt.Errorf("%s from %s", a.Output, name)
				}
				refused := (*RefusedError)(nil)
				if err != nil && (!errors.As(err, &refused) || refused.Kind != TooLarge && refused.Kind != Broke) {
					rt.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if peak := p.Status().Counters.PeakBytes; peak > limit {
			rt.Errorf("%d of %d were charged", peak, limit)
		}
		if err := p.Close(); err != nil || f.open.Load() != 0 {
			rt.Errorf("%d stay: %v", f.open.Load(), err)
		}
	})
}

func TestRowIsBounded(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 1}
	p := New(f, Limits{Host: 10, InFlight: 1, Queue: 1, Call: 200 * time.Millisecond, Load: time.Minute}, time.Now)
	defer p.Close()
	done := make(chan error, 2)
	go func() { _, err := p.Call(t.Context(), ask("a", "forever")); done <- err }()
	for p.Status().InFlight == 0 {
		time.Sleep(time.Millisecond)
	}
	go func() { _, err := p.Call(t.Context(), ask("a", "next")); done <- err }()
	for p.Status().Queue.Length == 0 {
		time.Sleep(time.Millisecond)
	}
	busy := (*BusyError)(nil)
	if _, err := p.Call(t.Context(), ask("a", "third")); !errors.As(err, &busy) || !busy.Queue {
		t.Errorf("%v", err)
	}
	slow := (*RefusedError)(nil)
	if err := <-done; !errors.As(err, &slow) || slow.Kind != Slow {
		t.Errorf("what takes forever: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("the next one, with a fresh model: %v", err)
	}
	if f.loads.Load() != 2 {
		t.Errorf("%d loads", f.loads.Load())
	}
}

func TestWhoLeavesTheRowIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	turns := newTurns(1, 4)
	leave, err := turns.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { _, err := turns.enter(ctx); gone <- err }()
	for _, n := turns.counts(); n == 0; _, n = turns.counts() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	leave()
	if inside, waiting := turns.counts(); inside != 0 || waiting != 0 {
		t.Errorf("%d inside, %d wait", inside, waiting)
	}
}

func TestFallbackIsRecorded(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 1, places: []Place{{Target: "webgpu", Rank: 0}, {Target: "webnn", Rank: 1}, {Target: "cpu", Rank: 2}}, fail: map[string]Kind{"webgpu": Unavailable, "webnn": Unsupported}}
	p := New(f, Limits{Host: 10, InFlight: 1, Call: time.Minute, Load: time.Minute}, time.Now)
	defer p.Close()
	r := ask("a", "x")
	r.Platform = "webgpu"
	for range 2 { // the second time from the model that is loaded
		a, err := p.Call(t.Context(), r)
		if err != nil || len(a.Fallback) != 2 || a.Fallback[0] != (Step{"webgpu", "webnn", "not there"}) || a.Fallback[1].To != "cpu" {
			t.Fatalf("%+v %v", a, err)
		}
		var s struct {
			Asked    string
			Fallback []Step
		}
		if json.Unmarshal(a.Settings, &s) != nil || s.Asked != "webgpu" || len(s.Fallback) != 2 {
			t.Errorf("%s", a.Settings)
		}
	}
	r.NoFallback = true
	refused := (*RefusedError)(nil)
	if _, err := p.Call(t.Context(), r); !errors.As(err, &refused) || refused.Kind != Unavailable {
		t.Errorf("%v", err)
	}
}

// TestBrokenModelIsReplaced: one that ends takes no other request with it.
func TestBrokenModelIsReplaced(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 1}
	p := New(f, Limits{Host: 10, InFlight: 2, Call: time.Minute, Load: time.Minute}, time.Now)
	defer p.Close()
	refused := (*RefusedError)(nil)
	if _, err := p.Call(t.Context(), ask("a", "break")); !errors.As(err, &refused) || refused.Kind != Broke {
		t.Errorf("%v", err)
	}
	if a, err := p.Call(t.Context(), ask("a", "x")); err != nil || string(a.Output) != `"a:x"` {
		t.Errorf("%s %v", a.Output, err)
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	places := []Place{{Target: "cuda", Rank: 0, MedianMS: 9}, {Target: "npu", Rank: 1}, {Target: "openvino", Rank: 2, MedianMS: 3}, {Target: "cpu", Rank: 3, MedianMS: 5}}
	for name, c := range map[string]struct {
		asked bool
		full  string
		want  string
	}{
		"by time, what nobody timed in its place": {false, "", "openvino npu cpu cuda "},
		"what has no memory free last":            {false, "openvino", "npu cpu cuda openvino "},
		"asked for":                               {true, "cuda", "cuda npu openvino cpu "},
	} {
		got := ""
		for _, p := range order(places, c.asked, func(p Place) bool { return p.Target != c.full }) {
			got += p.Target + " "
		}
		if got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestLargeInputIsForgotten: an input that takes more than there is ends the model, and only that: the
// next request has it loaded again.
func TestLargeInputIsForgotten(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 100}
	p := New(f, Limits{Host: 350, InFlight: 2, Call: time.Minute, Load: time.Minute}, time.Now)
	defer p.Close()
	refused := (*RefusedError)(nil)
	if _, err := p.Call(t.Context(), ask("a", "large")); !errors.As(err, &refused) || refused.Kind != TooLarge {
		t.Errorf("%v", err)
	}
	if a, err := p.Call(t.Context(), ask("a", "x")); err != nil || string(a.Output) != `"a:x"` {
		t.Errorf("%s %v", a.Output, err)
	}
	if c := p.Status().Counters; c.Lost != 1 || c.Loads != 2 || c.PeakBytes > 350 {
		t.Errorf("%+v", c)
	}
}

// TestEndedInACall: who asked a model that took too much while it computed is told that, and so is who waited for it.
func TestEndedInACall(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 100}
	p := New(f, Limits{Host: 350, InFlight: 3, Queue: 3, Call: time.Minute, Load: time.Minute, Watch: 20 * time.Millisecond}, time.Now)
	defer p.Close()
	if _, err := p.Call(t.Context(), ask("a", "x")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 3)
	for range 3 {
		go func() { _, err := p.Call(t.Context(), ask("a", "swell")); done <- err }()
	}
	for range 3 {
		refused := (*RefusedError)(nil)
		if err := <-done; !errors.As(err, &refused) || refused.Kind != TooLarge {
			t.Errorf("%v", err)
		}
	}
}

// TestWhoLeavesAsksNothing: requests whose askers are gone take neither a model nor a turn.
func TestWhoLeavesAsksNothing(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 1}
	p := New(f, Limits{Host: 10, InFlight: 2, Queue: 2, Call: time.Second, Load: time.Minute}, time.Now)
	defer p.Close()
	first := make(chan error, 1)
	go func() { _, err := p.Call(context.Background(), ask("a", "forever")); first <- err }()
	for s := p.Status(); len(s.Models) == 0 || s.Models[0].State != "busy"; s = p.Status() {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { _, err := p.Call(ctx, ask("a", "x")); second <- err }()
	for p.Status().InFlight < 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case err := <-second:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-first:
		t.Error("who left waited for the model")
	}
	if s := p.Status(); s.InFlight > 1 {
		t.Errorf("%+v", s)
	}
}

// TestCloseEndsLoads: whoever closes a pool waits for no load, and none goes on.
func TestCloseEndsLoads(t *testing.T) {
	t.Parallel()
	f := &fakes{need: 1, hang: true}
	p := New(f, Limits{Host: 10, InFlight: 2, Queue: 2, Call: time.Minute, Load: time.Hour}, time.Now)
	done := make(chan error, 1)
	go func() { _, err := p.Call(context.Background(), ask("a", "x")); done <- err }()
	for len(p.Status().Models) == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, errClosed) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the load goes on")
	}
}

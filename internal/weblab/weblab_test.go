package weblab

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/session"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

// patience is for what must happen soon.
const patience = 20 * time.Second

// serve is a lab whose runs go as the test says.
func serve(t *testing.T, address string, record Record) *Lab {
	t.Helper()
	return serveWith(t, address, nil, record)
}

// serveWith is serve with a certificate of the user's.
func serveWith(t *testing.T, address string, certificate *tls.Certificate, record Record) *Lab {
	t.Helper()
	return serveAs(t, address, Options{Certificate: certificate, Record: record})
}

// serveAs is serve with other options too.
func serveAs(t *testing.T, address string, o Options) *Lab {
	t.Helper()
	host, err := pages.Serve(nil, pages.Files{
		Page:    fstest.MapFS{"runner.html": {Data: []byte("<p>runner</p>")}},
		Package: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	o.Listener, o.Pages, o.Engine, o.Say = listener, host, "1.30.0", func(s string) { t.Log(s) }
	o.Models = []cell.Cell{{Type: "bert", Family: "encoder-only", Size: cell.Tiny, Weights: cell.Random}, {Type: "vit", Size: cell.Tiny, Weights: cell.Random}}
	o.Files = fstest.MapFS{"lab.html": {Data: []byte("<p>lab</p>")}, "lab.mjs": {Data: []byte("export {}")}}
	l, err := Serve(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// visitor stands for a guest's browser with the lab page in it.
type visitor struct {
	t      *testing.T
	url    string
	socket *websocket.Conn
}

// visit opens the lab as a Pixel's Chrome does, and returns what it is offered.
func visit(t *testing.T, l *Lab) (*visitor, offer) {
	t.Helper()
	v := arrive(t, l)
	var o offer
	v.into("offer", &o)
	return v, o
}

// arrive opens the lab and answers what it asks.
func arrive(t *testing.T, l *Lab) *visitor {
	t.Helper()
	v := &visitor{t: t, url: l.URLs()[0]}
	c, _, err := websocket.Dial(t.Context(), strings.Replace(v.url, "http", "ws", 1)+"socket", nil) //nolint:bodyclose // the library closes it
	if err != nil {
		t.Fatal(err)
	}
	v.socket = c
	t.Cleanup(func() { _ = c.CloseNow() })
	v.say(map[string]any{"kind": "hello", "about": About{UserAgent: pixel, Platform: "Android", Model: "Pixel 9", Secure: true}})
	path := v.hear("ask")["path"].(string)
	answer, err := json.Marshal(phone)
	if err != nil {
		t.Fatal(err)
	}
	post(t, v.at(path)+"answer", answer)
	return v
}

// at is the address of a path where the guest found the lab.
func (v *visitor) at(path string) string {
	origin, _, _ := strings.Cut(v.url, "/lab/")
	return origin + path
}

func (v *visitor) say(message any) {
	v.t.Helper()
	b, err := json.Marshal(message)
	if err == nil {
		err = v.socket.Write(v.t.Context(), websocket.MessageText, b)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// into reads messages until one of the kind comes.
func (v *visitor) into(kind string, message any) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	for {
		_, b, err := v.socket.Read(ctx)
		if err != nil {
			v.t.Fatalf("waiting for %s: %v", kind, err)
		}
		var head struct{ Kind string }
		if err := json.Unmarshal(b, &head); err != nil {
			v.t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		if err := json.Unmarshal(b, message); err != nil {
			v.t.Fatal(err)
		}
		return
	}
}

func (v *visitor) hear(kind string) map[string]any {
	v.t.Helper()
	var m map[string]any
	v.into(kind, &m)
	return m
}

func post(t *testing.T, address string, body []byte) (int, string) {
	t.Helper()
	r, err := http.Post(address, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, r)
}

func read(t *testing.T, r *http.Response) (int, string) {
	t.Helper()
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// through is a run in which each cell asks the guest's page its name, the way
// a runner's child does.
func through(l **Lab) Record {
	return func(ctx context.Context, plan cell.Plan, g session.Guest, on progress.Listener) error {
		_ = on.Hear(progress.Planned(len(plan.Cells)))
		for _, c := range plan.Cells {
			_ = on.Hear(progress.Started(c))
			v := (*l).o.Pages.Visit(ctx, pages.Where{Target: c.Where(), In: g.Browsers})
			answer, err := http.Post(v.Address()+"/page", "", nil)
			if err != nil {
				return err
			}
			b, err := io.ReadAll(answer.Body)
			if err := errors.Join(err, answer.Body.Close(), v.Close()); err != nil {
				return err
			}
			_ = on.Hear(progress.Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, Note: string(b)}))
		}
		return nil
	}
}

// TestGuests: two at once choose and run; each one's page is asked, and each
// hears of its own results.
func TestGuests(t *testing.T) {
	t.Parallel()
	var l *Lab
	l = serve(t, "127.0.0.1:0", through(&l))
	for _, model := range []string{"bert", "vit"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			v, o := visit(t, l)
			if o.Machine != "Pixel 9, android, qualcomm adreno-7xx" || o.Browser != "chrome 141.0.0.0" {
				t.Errorf("the guest is %q, %q", o.Machine, o.Browser)
			}
			place := map[string]int{"bert": 0, "vit": 1}[model]
			v.say(said{Kind: "run", Models: []int{place}, Targets: []string{"webgpu@chrome"}, Timing: cell.Functional})
			path := v.hear("open")["path"].(string)
			page, _, err := websocket.Dial(t.Context(), strings.Replace(v.at(path), "http", "ws", 1)+"socket", nil) //nolint:bodyclose // the library closes it
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = page.CloseNow() }()
			if err := page.Write(t.Context(), websocket.MessageText, []byte(`{"page":"of `+model+`"}`)); err != nil {
				t.Fatal(err)
			}
			var r row
			v.into("finished", &r)
			if r.Model != model || r.Target != "webgpu@chrome" || !strings.Contains(r.Note, "of "+model) {
				t.Errorf("the result is %+v", r)
			}
			if !strings.Contains(r.Note, `"about":{"browser":"chrome","version":"141.0.0.0","software":false}`) {
				t.Errorf("the page was described as %s", r.Note)
			}
			if d := v.hear("done"); d["stopped"] != false || d["error"] != nil {
				t.Errorf("it ended with %v", d)
			}
		})
	}
}

// TestRefusals: what was not offered is not run, and says why.
func TestRefusals(t *testing.T) {
	t.Parallel()
	l := serve(t, "127.0.0.1:0", func(context.Context, cell.Plan, session.Guest, progress.Listener) error {
		return errors.New("no disk")
	})
	v, _ := visit(t, l)
	for _, test := range []struct {
		said said
		why  string
	}{
		{said{Kind: "run", Models: []int{2}, Targets: []string{"webgpu@chrome"}, Timing: cell.Functional}, "there is no model 2"},
		{said{Kind: "run", Models: []int{-1}, Targets: []string{"webgpu@chrome"}, Timing: cell.Functional}, "there is no model -1"},
		{said{Kind: "run", Models: []int{0}, Targets: []string{"webnn@chrome"}, Timing: cell.Functional}, "this browser has no webnn@chrome"},
		{said{Kind: "run", Models: []int{0}, Targets: []string{"cuda"}, Timing: cell.Functional}, "this browser has no cuda"},
		{said{Kind: "run", Models: []int{0}, Targets: []string{"webgpu@chrome"}, Timing: "never"}, `there is no timing "never"`},
		{said{Kind: "run", Timing: cell.Functional}, "choose a model and a platform"},
		{said{Kind: "results"}, `unknown action "results"`},
	} {
		v.say(test.said)
		if got := v.hear("refused")["error"]; got != test.why {
			t.Errorf("%+v: %v", test.said, got)
		}
	}
	v.say(said{Kind: "run", Models: []int{0}, Targets: []string{"webgpu@chrome"}, Timing: cell.Functional})
	if d := v.hear("done"); d["error"] != "no disk" || d["stopped"] != false {
		t.Errorf("a failed run ended with %v", d)
	}
}

// endless is a run with a page open that goes on until it is stopped, and then
// says why.
func endless(why chan<- error) Record {
	return func(ctx context.Context, plan cell.Plan, g session.Guest, on progress.Listener) error {
		p, err := g.Browsers.Open(ctx, pages.Where{Target: plan.Cells[0].Where()}, "http://127.0.0.1/pages/x/")
		if err != nil {
			return err
		}
		_ = on.Hear(progress.Started(plan.Cells[0]))
		<-ctx.Done()
		select {
		case err := <-p.Gone():
			why <- errors.Join(context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
			why <- context.Cause(ctx)
		}
		return errors.Join(context.Cause(ctx), p.Close())
	}
}

var oneCell = said{Kind: "run", Models: []int{0}, Targets: []string{"webgpu@chrome"}, Timing: cell.Quick}

// TestStop: a run that is stopped ends, its frame is removed, and another can begin.
func TestStop(t *testing.T) {
	t.Parallel()
	why := make(chan error, 2)
	v, _ := visit(t, serve(t, "127.0.0.1:0", endless(why)))
	for range 2 {
		v.say(oneCell)
		id := v.hear("open")["id"]
		v.hear("started")
		v.say(oneCell)
		if got := v.hear("refused")["error"]; got != "a run is in progress: stop it first" {
			t.Error(got)
		}
		v.say(said{Kind: "stop"})
		if v.hear("close")["id"] != id {
			t.Error("another frame was removed")
		}
		if d := v.hear("done"); d["stopped"] != true {
			t.Errorf("it ended with %v", d)
		}
		if err := <-why; !errors.Is(err, errStopped) || errors.Is(err, ErrLeft) {
			t.Error(err)
		}
	}
}

// TestLeave: a guest that leaves ends its run and its pages.
func TestLeave(t *testing.T) {
	t.Parallel()
	why := make(chan error, 1)
	v, _ := visit(t, serve(t, "127.0.0.1:0", endless(why)))
	v.say(oneCell)
	v.hear("started")
	if err := v.socket.Close(websocket.StatusGoingAway, ""); err != nil {
		t.Log(err)
	}
	select {
	case err := <-why:
		if !errors.Is(err, ErrLeft) || strings.Count(err.Error(), ErrLeft.Error()) != 2 {
			t.Errorf("the run or its page did not hear of it: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the run went on")
	}
}

// TestClose: the lab ends its guests' runs, and they hear of it.
func TestClose(t *testing.T) {
	t.Parallel()
	why := make(chan error, 1)
	l := serve(t, "127.0.0.1:0", endless(why))
	v, _ := visit(t, l)
	v.say(oneCell)
	v.hear("started")
	go func() { _ = l.Close() }()
	for {
		_, _, err := v.socket.Read(t.Context())
		if err == nil {
			continue
		}
		if websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("the page heard %v", err)
		}
		break
	}
	if err := <-why; !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// TestPlans: the choice becomes cells of the guest's own browser, without
// fallback.
func TestPlans(t *testing.T) {
	t.Parallel()
	l := serve(t, "127.0.0.1:0", nil)
	g := &guest{lab: l, about: About{UserAgent: pixel}}
	var err error
	if g.report, err = g.about.report(phone, "1.30.0"); err != nil {
		t.Fatal(err)
	}
	p, err := g.plan(said{Models: []int{1, 0}, Targets: []string{"webgpu@chrome", "cpu/wasm@chrome"}, Timing: cell.Thorough})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Cells {
		got = append(got, c.Type+" on "+c.Target+" by "+string(c.Engine))
	}
	want := []string{"vit on webgpu@chrome by ort-web", "vit on cpu/wasm@chrome by wasm", "bert on webgpu@chrome by ort-web", "bert on cpu/wasm@chrome by wasm"}
	if diff := cmp.Diff(want, got); diff != "" || !p.NoFallback || p.Timing != cell.Thorough {
		t.Errorf("%s %+v", diff, p)
	}
}

// TestSoftware: a page on a software adapter says so.
func TestSoftware(t *testing.T) {
	t.Parallel()
	l := serve(t, "127.0.0.1:0", nil)
	g := &guest{lab: l, about: About{UserAgent: pixel}, frames: map[string]*frame{}, lost: ErrLeft}
	swift := phone
	swift.WebGPU = detect.WebGPU{Vendor: "google", Architecture: "swiftshader"}
	var err error
	if g.report, err = g.about.report(swift, "1.30.0"); err != nil {
		t.Fatal(err)
	}
	if !g.software(platform.Target{Platform: platform.WebGPU, Browser: "chrome"}) || g.software(platform.Target{Platform: platform.CPU, Engine: platform.Wasm, Browser: "chrome"}) {
		t.Error("WebGPU is software here, and WebAssembly is not")
	}
	if _, err := g.Open(t.Context(), pages.Where{}, "http://127.0.0.1/pages/x/"); !errors.Is(err, ErrLeft) {
		t.Errorf("a page was opened where nobody is: %v", err)
	}
}

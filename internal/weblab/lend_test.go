package weblab

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/progress"

	"github.com/coder/websocket"
)

// A guest's browser works for others as long as its page is open: what runs there is shown, one run at a time, and ends with it.
func TestLent(t *testing.T) {
	t.Parallel()
	came, gone := make(chan *Lent, 1), make(chan bool, 1)
	l := serveAs(t, "127.0.0.1:0", Options{To: "worker lab", As: "lab", Lend: func(x *Lent) func() {
		came <- x
		return func() { gone <- true }
	}})
	v := arrive(t, l)
	var said lent
	v.into("lent", &said)
	if said.To != "worker lab as lab-1" || !slices.Equal(said.Targets, []string{"webgpu@chrome", "cpu/wasm@chrome"}) {
		t.Errorf("the page was told %+v", said)
	}
	x := <-came
	second := arrive(t, l)
	second.into("lent", &said)
	if y := <-came; x.Name() != "lab-1" || y.Name() != "lab-2" || said.To != "worker lab as lab-2" {
		t.Errorf("the second guest is %s and was told %+v", y.Name(), said)
	}
	if err := second.socket.Close(websocket.StatusGoingAway, ""); err != nil {
		t.Log(err)
	}
	<-gone
	if g := x.Guest(); x.Host().OS != "android" || g.Browser != "chrome" || g.Report.Host.ID != x.Host().ID {
		t.Errorf("%+v is %+v", x.Host(), g)
	}
	v.say(oneCell)
	v.hear("refused") // it has nothing to choose
	c := cell.Cell{Type: "bert", Platform: platform.WebGPU, Browser: "chrome"}.Normal()
	heard := 0
	on := progress.Func(func(progress.Event) error { heard++; return nil })
	err := x.Run(t.Context(), on, func(ctx context.Context, on progress.Listener) error {
		if err := x.Run(ctx, on, nil); err == nil {
			t.Error("two runs at once")
		}
		_ = on.Hear(progress.Started(c))
		return on.Hear(progress.Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured}))
	})
	if err != nil || heard != 2 {
		t.Errorf("%d events, %v", heard, err)
	}
	if r := v.hear("finished"); r["target"] != "webgpu@chrome" {
		t.Errorf("the page shows %v", r)
	}
	v.hear("done")
	ended := make(chan error, 1)
	go func() {
		ended <- x.Run(t.Context(), on, func(ctx context.Context, _ progress.Listener) error {
			_, err := x.Guest().Browsers.Open(ctx, pages.Where{Target: c.Where()}, "http://127.0.0.1/pages/x/")
			if err == nil {
				<-ctx.Done()
			}
			return errors.Join(err, context.Cause(ctx))
		})
	}()
	v.hear("open")
	if err := v.socket.Close(websocket.StatusGoingAway, ""); err != nil {
		t.Log(err)
	}
	for range 2 {
		select {
		case err := <-ended:
			if !errors.Is(err, ErrLeft) {
				t.Errorf("the run ended with %v", err)
			}
		case <-gone:
		case <-time.After(patience):
			t.Fatal("nobody hears that the guest has gone")
		}
	}
	if err := x.Run(t.Context(), on, nil); !errors.Is(err, ErrLeft) {
		t.Errorf("a run where nobody is: %v", err)
	}
}

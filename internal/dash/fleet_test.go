package dash

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/fleet"
	"assay/internal/platform"
)

// A fleet is shown as its coordinator tells, once a second for all viewers; without a coordinator the page says so, and one that
// does not answer is told of.
func TestFleet(t *testing.T) {
	t.Parallel()
	if f := into[Fleet](t, start(t, nil).must(http.StatusOK, "GET", "/v1/fleet", "")); f.Named || f.Workers == nil || f.Sweeps == nil {
		t.Errorf("%+v", f)
	}
	var asked atomic.Int32
	var away atomic.Bool
	var now atomic.Int64
	x := start(t, func(o *Options) {
		o.Now = func() time.Time { return time.Unix(now.Load(), 0) }
		o.Fleet = func(context.Context) (fleet.Status, error) {
			asked.Add(1)
			if away.Load() {
				return fleet.Status{}, errors.New("nobody answers there")
			}
			return fleet.Status{
				Workers: []fleet.WorkerStatus{
					{Name: "a", Alive: true, Offers: []fleet.Offer{{Target: platform.Target{Platform: platform.CUDA}.Normal()}}, Running: []fleet.Activity{{Key: "k", Model: "bert", Target: "cuda"}}},
					{Name: "b", Alive: true, Quarantined: "it is hot"}, {Name: "c"}, {Name: "d", Alive: true, Draining: true},
				},
				Sweeps: []fleet.SweepStatus{{Sweep: fleet.Sweep{ID: "s1", Tasks: 3}, Answered: 3}, {Sweep: fleet.Sweep{ID: "s2", Tasks: 3}, Left: 3, Paused: true}},
				Tasks:  map[fleet.State]int{fleet.Done: 3, fleet.Paused: 3}, Stranded: []fleet.Stranded{{Target: "qnn", Tasks: 2, Missing: "a lacks qnn"}},
			}, nil
		}
	})
	for range 3 {
		f := into[Fleet](t, x.must(http.StatusOK, "GET", "/v1/fleet", ""))
		if !f.Named || len(f.Workers) != 4 || f.Workers[0].State != "here" || f.Workers[1].State != "quarantined" || f.Workers[2].State != "away" || f.Workers[3].State != "draining" {
			t.Fatalf("%+v", f)
		}
		if f.Workers[0].Runs[0] != "bert cuda" || f.Workers[0].Targets[0] != "cuda" || f.Sweeps[0].ID != "s2" || f.Sweeps[0].State != "paused" || f.Sweeps[1].State != "done" || f.Tasks["done"] != 3 || f.Stuck[0].Missing != "a lacks qnn" {
			t.Errorf("%+v", f)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the coordinator was asked %d times", n)
	}
	away.Store(true)
	now.Add(2)
	if f := into[Fleet](t, x.must(http.StatusOK, "GET", "/v1/fleet", "")); !f.Named || f.Problem != "nobody answers there" {
		t.Errorf("%+v", f)
	}
}

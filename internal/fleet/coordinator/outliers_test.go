package coordinator

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/worker"
	"assay/internal/platform"
)

// Four like machines ran the same cell, and one of them was slower: it is named, also by a coordinator that was started again.
func TestOutliers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := newGround(t, Config{Dir: dir})
	for i, name := range []string{"a", "b", "c", "d"} {
		ms := 10 + 0.1*float64(i)
		if name == "d" {
			ms = 16
		}
		stop := g.work(name, func(_ context.Context, c cell.Cell) (cell.Result, error) {
			r := cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, SubjectHash: "s", StartedAt: time.Now(), Latency: &cell.Latency{}}
			for n := range 6 {
				m := ms * (1 + 0.002*float64(n%3))
				r.Latency.SamplesMS = append(r.Latency.SamplesMS, []float64{m, m * 1.001, m * 0.999})
			}
			return r, nil
		}, func(c *worker.Config) {
			c.Host = cell.Host{ID: "alike"}
			c.Offers = append(c.Offers, fleet.Offer{Target: platform.Target{Platform: platform.CPU}.Normal()})
		})
		task := fleet.NewTask(cell.Cell{Type: "bert"}, cell.Plan{Timing: cell.Quick, Strict: true}, fleet.Needs{})
		g.send("s"+name, task)
		g.answers("s" + name)
		stop()
	}
	g.stop()
	g.open(Config{Dir: dir, Queue: g.queue, Lease: lease})
	found, err := g.Outliers(t.Context())
	if err != nil || len(found) != 1 || found[0].Worker != "d" || found[0].Others != 3 || !strings.Contains(found[0].Why, "times slower there than on 3 machines of the same kind") {
		t.Errorf("%v, %+v", err, found)
	}
}

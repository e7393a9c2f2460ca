package lab

import (
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// teardown is a runner whose timed children report, and are gone only when the
// test lets them: by default when the next one has begun.
type teardown struct {
	mu      sync.Mutex
	waiting chan struct{}
	overlap int // children that began while the one before was leaving
	jobs    int
	late    bool // the child before is gone only after this one's timed phase
}

func (d *teardown) do(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
	if job.Kind != runner.TimeJob {
		return good(n, job, on)
	}
	d.mu.Lock()
	d.jobs++
	before, mine := d.waiting, make(chan struct{})
	d.waiting = mine
	if before != nil {
		d.overlap++
		if !d.late {
			close(before)
		}
	}
	late := d.late
	d.mu.Unlock()
	if before != nil && !late {
		time.Sleep(20 * time.Millisecond) // its Run returns meanwhile
	}
	on(runner.Timed{State: "begin"})
	on(runner.Timed{State: "end"})
	if before != nil && late {
		d.mu.Lock()
		d.late = false
		d.mu.Unlock()
		close(before)
	}
	for i := range job.Points {
		on(runner.PointDone{Index: i, Report: goodReport(job)})
	}
	select {
	case <-mine:
	case <-time.After(200 * time.Millisecond): // the last one has none behind it
	}
	d.mu.Lock()
	if d.waiting == mine {
		d.waiting = nil
	}
	d.mu.Unlock()
	return runner.Exit{}, nil
}

func timeThree(t *testing.T, d *teardown, c cell.Cell) []cell.Result {
	t.Helper()
	rs, _, err := carry(t, &script{do: d.do}, bench{gpu: true}, cell.Plan{Timing: cell.Quick, Cells: []cell.Cell{c}})
	if err != nil || len(rs) != 1 || rs[0].Latency == nil || rs[0].Latency.Repeats != 3 {
		t.Fatalf("%v: %+v", err, rs)
	}
	return rs
}

// TestTheNextChildBeginsWhileAGPUIsFreed: a tiny model's context is torn down
// beside the next child's building; a large model's, and the CPU's, is awaited.
func TestTheNextChildBeginsWhileAGPUIsFreed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cell cell.Cell
		want int
	}{
		{cell.Cell{Type: "x", Platform: platform.CUDA}, 2},
		{cell.Cell{Type: "x", Platform: platform.CUDA, Size: cell.Full}, 0},
		{cell.Cell{Type: "x"}, 0},
	} {
		d := &teardown{}
		timeThree(t, d, tt.cell)
		// On a busy machine a child may count as disturbed, and is done again.
		if min(d.overlap, 2) != tt.want || d.jobs < 3 || tt.want == 0 && d.jobs > 3 {
			t.Errorf("%s %s on %s: %d of %d children began before the last was gone, want %d", tt.cell.Type, tt.cell.Size, tt.cell.Platform, d.overlap, d.jobs, tt.want)
		}
	}
}

// TestNothingIsTimedBesideAnother: a child that was timed before the one
// before it was gone does not count, and is done again.
func TestNothingIsTimedBesideAnother(t *testing.T) {
	t.Parallel()
	d := &teardown{late: true}
	timeThree(t, d, cell.Cell{Type: "x", Platform: platform.CUDA})
	if d.jobs < 4 {
		t.Errorf("%d children for three repeats, one of which was disturbed", d.jobs)
	}
}

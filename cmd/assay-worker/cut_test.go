//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/cable"
)

// far is a worker behind a cable, and what it had when that was cut.
type far struct {
	name    string
	line    *cable.Cable
	cut     func(*cable.Cable)
	key     string
	attempt int
}

// behind starts a worker whose connections go through a cable.
func (y *yard) behind(name string, cut func(*cable.Cable)) *far {
	y.t.Helper()
	line, at := cable.Lay(y.t, y.address)
	w := newWorker(y.t)
	c := exec.Command("assay-worker", "join", "nats://"+at, "--name", name, "--noop", "--workers", "1", "--label", "far="+name)
	c.Env = w.environ
	if err := c.Start(); err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return &far{name: name, line: line, cut: cut}
}

// sever cuts a worker off while it runs a cell of a second.
func (y *yard) sever(f *far) {
	y.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, x := range y.tasks("s1") {
			for _, a := range x.Attempts {
				if a.Worker == f.name && a.End == "" && x.Cell.Task == "sleep" && time.Since(a.Began) < 500*time.Millisecond {
					f.cut(f.line)
					f.key, f.attempt = x.Key, a.N
					return
				}
			}
		}
	}
	y.t.Fatalf("worker %s runs no cell of a second", f.name)
}

func (y *yard) tasks(sweep string) (all []fleet.TaskStatus) {
	y.t.Helper()
	y.again(func(ctx context.Context) (err error) {
		all, err = y.client.Tasks(ctx, fleet.TaskQuestion{Sweep: sweep, Most: 10_000})
		return err
	})
	return all
}

// submit sends a sweep in one part.
func (y *yard) submit(id string, tasks []fleet.Task) {
	y.t.Helper()
	y.again(func(ctx context.Context) error {
		_, err := y.client.Submit(ctx, fleet.Submission{Sweep: fleet.Sweep{ID: id, Tasks: len(tasks)}, Tasks: tasks, Last: true})
		return err
	})
}

// resumed waits until a worker begins a task of a sweep.
func (y *yard) resumed(sweep, worker string) time.Time {
	y.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, x := range y.tasks(sweep) {
			if len(x.Attempts) > 0 && x.Attempts[0].Worker == worker {
				return x.Attempts[0].Began
			}
		}
	}
	y.t.Fatalf("worker %s does not come back", worker)
	return time.Time{}
}

// once reports cells of a sweep that have not exactly one result.
func (y *yard) once(sweep string, tasks []fleet.Task) {
	y.t.Helper()
	seen := map[string]int{}
	for _, a := range y.answers(sweep) {
		seen[a.Key]++
	}
	for _, task := range tasks {
		if seen[task.Key] != 1 {
			y.t.Errorf("cell %d of %s has %d results", task.Cell.Seed, sweep, seen[task.Key])
		}
	}
}

// TestCutOffForMinutes: two workers are cut off, one with its connections broken and one whose network loses everything, for longer
// than their lease and many attempts to connect. What they had runs elsewhere meanwhile and counts once; what they bring is evidence;
// and both begin a task within five seconds of being able to.
func TestCutOffForMinutes(t *testing.T) {
	t.Parallel()
	lease, minutes := 2*time.Second, 12*time.Second
	if os.Getenv("ASSAY_TEST_FULL") != "" {
		lease, minutes = fleet.Lease, 150*time.Second
	}
	y := newYard(t, lease, 1)
	fars := []*far{y.behind("broken", (*cable.Cable).Cut), y.behind("silent", (*cable.Cable).Silence)}
	cells := sleepers(100)
	y.submit("s1", cells)
	for _, f := range fars {
		y.sever(f)
	}
	away := time.Now()
	y.once("s1", cells)
	t.Logf("everything had its result %s after the cut", time.Since(away).Round(time.Second))
	time.Sleep(minutes - time.Since(away))
	for _, w := range y.status().Workers {
		if strings.HasPrefix(w.Name, "w") == !w.Alive {
			t.Errorf("%s: %s", w.Name, w.State())
		}
	}
	for i, f := range fars {
		task := sleepers(1)[0]
		task.Cell.Seed = 1000 + i
		y.submit("s2-"+f.name, []fleet.Task{fleet.NewTask(task.Cell, task.How, fleet.Needs{Labels: map[string]string{"far": f.name}})})
	}
	back := time.Now()
	for _, f := range fars {
		f.line.Mend()
	}
	for _, f := range fars {
		took := y.resumed("s2-"+f.name, f.name).Sub(back)
		t.Logf("worker %s began a task %s after it could, cut off for %s", f.name, took.Round(time.Millisecond), back.Sub(away).Round(time.Second))
		if took > 5*time.Second {
			t.Errorf("that is too long")
		}
		y.answers("s2-" + f.name)
	}
	for end := time.Now().Add(20 * time.Second); y.status().Tally.Late < len(fars) && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
	}
	s := y.status()
	if s.Tally.Late != len(fars) || s.Tally.Accepted != len(cells)+len(fars) || s.Tally.Dead > 0 {
		t.Errorf("%+v", s.Tally)
	}
	y.audit(len(cells)+len(fars), hanging{key: fars[0].key, attempt: fars[0].attempt})
}

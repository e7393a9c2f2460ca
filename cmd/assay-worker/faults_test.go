//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/ledger"
	"assay/internal/fleet/station"
	"assay/internal/fleet/wire"
	"assay/internal/platform"
)

// coordinate is a coordinator as a process of its own: test-coordinator DIR ADDRESS LEASE.
func coordinate() {
	lease, err := time.ParseDuration(os.Args[3])
	if err != nil {
		panic(err)
	}
	s, err := station.Open(context.Background(), station.Options{Dir: os.Args[1], Listen: os.Args[2], Open: true, Lease: lease})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		panic(err)
	}
	fmt.Println(s.URL())
	_ = s.Run(context.Background())
}

// yard is a fleet of real processes.
type yard struct {
	t      *testing.T
	dir    string
	lease  time.Duration
	client *wire.Client

	mu          sync.Mutex
	address     string // of the coordinator, kept for the next one
	coordinator *exec.Cmd
	workers     []*exec.Cmd // nil is one that is just being started
	spared      int         // of workers, that is not to be killed; -1 is none
	over        bool
}

const crew = 6

func newYard(t *testing.T, lease time.Duration, crew int) *yard {
	t.Helper()
	y := &yard{t: t, dir: t.TempDir(), address: "127.0.0.1:0", lease: lease, workers: make([]*exec.Cmd, crew), spared: -1}
	y.open()
	nc, err := wire.Connect("nats://"+y.address, wire.Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	y.client = wire.NewClient(nc, "", 5*time.Second)
	t.Cleanup(func() {
		nc.Close()
		y.mu.Lock()
		defer y.mu.Unlock()
		y.over = true
		for _, c := range append(y.workers, y.coordinator) {
			if c != nil {
				_ = c.Process.Signal(syscall.SIGCONT)
				_ = c.Process.Kill()
			}
		}
	})
	for i := range crew {
		y.hire(i)
	}
	return y
}

// open starts the coordinator; a second time at the same address.
func (y *yard) open() {
	y.t.Helper()
	c := exec.Command("test-coordinator", filepath.Join(y.dir, "coordinator"), y.address, y.lease.String())
	out, err := c.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		y.t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		y.t.Fatalf("the coordinator did not start: %v", err)
	}
	y.mu.Lock()
	y.coordinator, y.address = c, strings.TrimPrefix(strings.TrimSpace(string(line[:n])), "nats://")
	y.mu.Unlock()
}

// hire starts a worker, and another in its place when it has died.
func (y *yard) hire(i int) {
	w := newWorker(y.t)
	y.mu.Lock()
	address := y.address
	y.mu.Unlock()
	c := exec.Command("assay-worker", "join", "nats://"+address, "--name", "w"+strconv.Itoa(i), "--noop", "--workers", "1")
	c.Env = w.environ
	if err := c.Start(); err != nil {
		y.t.Error(err)
		return
	}
	y.mu.Lock()
	y.workers[i] = c
	y.mu.Unlock()
	go func() {
		_ = c.Wait()
		y.mu.Lock()
		over := y.over
		y.workers[i] = nil
		y.mu.Unlock()
		if !over {
			y.hire(i)
		}
	}()
}

// kill kills a worker, or a process below it, without warning.
func (y *yard) kill(r *rand.Rand) {
	y.mu.Lock()
	defer y.mu.Unlock()
	i := r.IntN(len(y.workers))
	c := y.workers[i]
	if c == nil || i == y.spared {
		return
	}
	pid := c.Process.Pid
	if below := descendants(pid); len(below) > 0 && r.IntN(2) == 0 {
		pid = below[r.IntN(len(below))]
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// descendants are the processes below one.
func descendants(pid int) []int {
	var out []int
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // any thread may have started one
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(append(out, n), descendants(n)...)
			}
		}
	}
	return out
}

// tasks are this many no-ops, each tenth of which takes a second.
func sleepers(n int) []fleet.Task {
	var out []fleet.Task
	for i := range n {
		c := cell.Cell{Type: "noop", Engine: platform.Noop, Seed: i + 1}
		if i%10 == 0 {
			c.Task = "sleep"
		}
		out = append(out, fleet.NewTask(c, cell.Plan{Timing: cell.Functional}, fleet.Needs{}))
	}
	return out
}

// TestFaults: workers and their children are killed at random, one worker hangs
// beyond its lease, the coordinator is killed and started again. Every cell has
// exactly one accepted result, and what the hanging worker brings is kept as
// evidence.
func TestFaults(t *testing.T) {
	cells, seeds := 500, 1
	if os.Getenv("ASSAY_TEST_FULL") != "" {
		cells, seeds = 2000, 20
	}
	first := uint64(time.Now().UnixNano() % 1e9)
	if text := os.Getenv("ASSAY_TEST_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first = n
	}
	for s := range seeds {
		seed := first + uint64(s)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { faults(t, cells, seed) })
	}
}

func faults(t *testing.T, cells int, seed uint64) {
	t.Logf("again with ASSAY_TEST_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, seed))
	y := newYard(t, 5*time.Second, crew)
	tasks := sleepers(cells)
	for from := 0; from < len(tasks); from += 500 {
		y.again(func(ctx context.Context) error {
			_, err := y.client.Submit(ctx, fleet.Submission{Sweep: fleet.Sweep{ID: "s1", Tasks: cells}, Part: from / 500, Tasks: tasks[from:min(from+500, cells)]})
			return err
		})
	}
	hung := y.hang()
	kills := cells / 10
	for n := range kills {
		time.Sleep(time.Duration(100+r.IntN(200)) * time.Millisecond)
		y.kill(r)
		if n == kills/2 {
			y.mu.Lock()
			c := y.coordinator
			y.mu.Unlock()
			_ = c.Process.Kill()
			_ = c.Wait()
			y.open()
		}
	}
	answers := y.answers("s1")
	seen := map[string]int{}
	for _, a := range answers {
		seen[a.Key]++
	}
	for _, task := range tasks {
		if seen[task.Key] != 1 {
			t.Errorf("cell %d has %d results", task.Cell.Seed, seen[task.Key])
		}
	}
	y.wake(hung)
	status := y.status()
	extra := status.Tally.Attempts - cells
	t.Logf("%d kills, %d attempts for %d cells: %.1f %% extra; %d lost, %d tried elsewhere, %d late answers, %d verdicts of the coordinator's",
		kills, status.Tally.Attempts, cells, 100*float64(extra)/float64(cells), status.Tally.Lost, status.Tally.Failed, status.Tally.Late, status.Tally.Dead)
	if extra > cells/10 {
		t.Errorf("%d attempts for %d cells", status.Tally.Attempts, cells)
	}
	y.audit(cells, hung)
}

// again asks until the coordinator answers.
func (y *yard) again(ask func(context.Context) error) {
	y.t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = ask(y.t.Context()); err == nil {
			return
		}
	}
	y.t.Fatalf("the coordinator does not answer: %v", err)
}

func (y *yard) status() (s fleet.Status) {
	y.t.Helper()
	y.again(func(ctx context.Context) (err error) { s, err = y.client.Status(ctx); return err })
	return s
}

// hanging is a worker that was stopped with a task.
type hanging struct {
	worker  int
	key     string
	attempt int
}

// idle is how many processes a worker has below it when it runs nothing: its runner, and the one that runner forks from.
const idle = 2

// hang stops a worker that runs a cell of a second, but not the cell.
func (y *yard) hang() hanging {
	y.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var all []fleet.TaskStatus
		y.again(func(ctx context.Context) (err error) {
			all, err = y.client.Tasks(ctx, fleet.TaskQuestion{Sweep: "s1"})
			return err
		})
		for _, x := range all {
			if x.Cell.Task != "sleep" || !x.State.UnderWay() {
				continue
			}
			a := x.Attempts[len(x.Attempts)-1]
			i, err := strconv.Atoi(strings.TrimPrefix(a.Worker, "w"))
			if err != nil || time.Since(a.Began) > 500*time.Millisecond {
				continue
			}
			y.mu.Lock()
			c := y.workers[i]
			y.spared = i
			y.mu.Unlock()
			if c == nil {
				continue
			}
			if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
				y.t.Fatal(err)
			}
			if runtime.GOOS == "linux" && len(descendants(c.Process.Pid)) <= idle { // it has not begun the cell, and would be told not to
				_ = c.Process.Signal(syscall.SIGCONT)
				continue
			}
			return hanging{i, x.Key, a.N}
		}
	}
	y.t.Fatal("no worker runs a cell of a second")
	return hanging{}
}

// wake lets the hanging worker go on, and waits for what it brings.
func (y *yard) wake(h hanging) {
	y.t.Helper()
	y.mu.Lock()
	c := y.workers[h.worker]
	y.mu.Unlock()
	if c == nil {
		y.t.Fatal("the worker that hung is gone")
	}
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		y.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if y.status().Tally.Late > 0 {
			return
		}
	}
	y.t.Error("what the hanging worker had was not kept as evidence")
}

// answers are all of a sweep's.
func (y *yard) answers(id string) []fleet.Final {
	y.t.Helper()
	var out []fleet.Final
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
		var p fleet.Page
		y.again(func(ctx context.Context) (err error) {
			p, err = y.client.Answers(ctx, fleet.Question{Sweep: id, After: len(out), Wait: 2 * time.Second})
			return err
		})
		out = append(out, p.Answers...)
		if p.Left == 0 {
			return out
		}
	}
	y.t.Fatalf("%d answers, and no more came: %+v", len(out), y.status())
	return nil
}

// audit reads the ledger as it lies on the disk: one final result for each cell, and
// the late one with what it gave.
func (y *yard) audit(cells int, h hanging) {
	y.t.Helper()
	y.mu.Lock()
	c := y.coordinator
	y.mu.Unlock()
	_ = c.Process.Kill()
	_ = c.Wait()
	final, late, failed := map[string]int{}, false, map[string]int{}
	l, err := ledger.Open(filepath.Join(y.dir, "coordinator", "ledger.jsonl"), func(e fleet.Event, _ fleet.Ref) {
		switch e.Kind {
		case fleet.KindAccepted, fleet.KindDead:
			final[e.Key]++
		case fleet.KindFailed:
			failed[e.Attempt.Worker+": "+e.Why]++
		case fleet.KindLate:
			var r cell.Result
			if e.Key == h.key && e.Attempt.N == h.attempt && len(e.Results) == 1 && json.Unmarshal(e.Results[0], &r) == nil && r.Verdict == cell.Works {
				late = true
			}
		}
	})
	if err != nil {
		y.t.Fatal(err)
	}
	_ = l.Close()
	for why, n := range failed {
		y.t.Logf("%d tried elsewhere: %s", n, why)
	}
	if len(final) != cells {
		y.t.Errorf("the ledger has results of %d cells", len(final))
	}
	for key, n := range final {
		if n != 1 {
			y.t.Errorf("the ledger has %d results of %s", n, key)
		}
	}
	if !late {
		y.t.Errorf("the ledger has no late answer of %s, attempt %d", h.key, h.attempt)
	}
}

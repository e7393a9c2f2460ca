package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/jetstream"
	"assay/internal/fleet/wire"
	fleetworker "assay/internal/fleet/worker"
	"assay/internal/platform"
	"assay/internal/progress"
)

// drill drives a real coordinator, in a process of its own, with workers that do nothing, each with
// a connection of its own, all in this process.
type drill struct {
	assay          string
	workers, tasks int
	relaxed        bool
}

// runFleet measures how fast a coordinator hands tasks out and takes results in.
func runFleet(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	var l drill
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&l.assay, "assay", "bin/assay", "the program to measure")
	f.IntVar(&l.workers, "workers", 1000, "workers that do nothing")
	f.IntVar(&l.tasks, "tasks", 100_000, "tasks to be handed out")
	f.BoolVar(&l.relaxed, "relaxed", true, "let the queue not wait for the disk; the ledger always does")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return l.measure(ctx, dir, stdout)
}

var natsURL = regexp.MustCompile(`nats://[0-9.]+:[0-9]+`)

// start starts the coordinator, and says where it is.
func (l drill) start(ctx context.Context, dir string) (cmd *exec.Cmd, url string, err error) {
	args := []string{"coordinator", "--addr", "127.0.0.1:0", "--dir", filepath.Join(dir, "fleet"), "--check-every", "0"}
	if l.relaxed {
		args = append(args, "--relaxed")
	}
	cmd = exec.CommandContext(ctx, l.assay, args...)
	cmd.Env = append(os.Environ(), "ASSAY_HOME="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	url, err = spoken(out)
	return cmd, url, err
}

// measure starts the coordinator, joins the workers, sends the tasks and waits for all answers.
func (l drill) measure(ctx context.Context, dir string, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, url, err := l.start(ctx, dir)
	if cmd != nil {
		defer func() { cancel(); _ = cmd.Wait() }()
	}
	if err != nil {
		return err
	}
	began := time.Now()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	if err := l.join(ctx, url, &all); err != nil {
		return err
	}
	nc, err := wire.Connect(url, wire.Options{Name: "load"})
	if err != nil {
		return err
	}
	defer nc.Close()
	office := wire.NewClient(nc, "", 30*time.Second)
	if err := l.present(ctx, office); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d workers joined in %.1f s\n", l.workers, time.Since(began).Seconds())
	began = time.Now()
	id := rand.Text()
	if err := l.send(ctx, office, id); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d tasks sent in %.1f s\n", l.tasks, time.Since(began).Seconds())
	seen, err := l.collect(ctx, office, id, stdout, began)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	s, err := office.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d answers in %.1f s (%.0f a second), %d attempts, %d late, %d lost, %d dead; ledger %.0f MB; coordinator: %s of memory at most, %s of processor time\n",
		seen, took, float64(seen)/took, s.Tally.Attempts, s.Tally.Late, s.Tally.Lost, s.Tally.Dead, float64(s.LedgerBytes)/1e6, peak(cmd.Process.Pid), busyFor(cmd.Process.Pid))
	if seen != l.tasks || s.Tally.Accepted != l.tasks {
		return fmt.Errorf("%d answers came and %d were accepted, of %d tasks", seen, s.Tally.Accepted, l.tasks)
	}
	return nil
}

// spoken reads where the coordinator is, and then whatever else it says.
func spoken(r io.Reader) (string, error) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		if url := natsURL.FindString(s.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return url, nil
		}
	}
	return "", errors.New("the coordinator did not start")
}

// idle is a machine that answers at once.
type idle struct{}

// Carry says that the cell works.
func (idle) Carry(_ context.Context, plan cell.Plan, on progress.Listener) error {
	for _, c := range plan.Cells {
		r := cell.Result{Cell: c, Asked: c.Hash, Verdict: cell.Works, Evidence: cell.Measured, Requested: cell.SettingsOf(c), Outputs: []cell.Output{}, StartedAt: time.Now()}
		if err := on.Hear(progress.Finished(r)); err != nil {
			return err
		}
	}
	return nil
}

func (l drill) join(ctx context.Context, url string, all *sync.WaitGroup) error {
	noop := platform.Target{Platform: platform.CPU, Engine: platform.Noop}.Normal()
	for i := range l.workers {
		name := fmt.Sprintf("w%d", i)
		nc, err := wire.Connect(url, wire.Options{Name: name, Keep: true})
		if err != nil {
			return err
		}
		q, err := jetstream.Open(nc, fleet.Limits{})
		if err != nil {
			return err
		}
		client := wire.NewClient(nc, name, 30*time.Second)
		w := fleetworker.New(fleetworker.Config{
			Announcement: fleet.Announcement{Protocol: fleet.Protocol, Worker: name, Incarnation: rand.Text()[:10], Version: "load", Slots: 1, Where: name,
				Host: cell.Host{ID: name}, Offers: []fleet.Offer{{Target: noop}}},
			Desk: client, Queue: q, Carrier: idle{}, Hear: client.Hear, Refused: wire.Refused,
		})
		all.Go(func() { _ = w.Run(ctx); nc.Close() })
	}
	return nil
}

// present waits until all workers are there.
func (l drill) present(ctx context.Context, office fleet.Office) error {
	for {
		s, err := office.Status(ctx)
		if err != nil {
			return err
		}
		alive := 0
		for i := range s.Workers {
			if s.Workers[i].Alive {
				alive++
			}
		}
		if alive >= l.workers {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d workers joined: %w", alive, l.workers, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// send sends the tasks in parts.
func (l drill) send(ctx context.Context, office fleet.Office, id string) error {
	const part = 500
	sweep := fleet.Sweep{ID: id, Command: "test", By: "load", Tasks: l.tasks}
	for from := 0; from < l.tasks; from += part {
		var tasks []fleet.Task
		for i := from; i < min(from+part, l.tasks); i++ {
			tasks = append(tasks, fleet.NewTask(cell.Cell{Type: "noop", Engine: platform.Noop, Seed: i + 1}, cell.Plan{Timing: cell.Functional}, fleet.Needs{}))
		}
		if _, err := office.Submit(ctx, fleet.Submission{Sweep: sweep, Part: from / part, Tasks: tasks, Last: from+part >= l.tasks}); err != nil {
			return err
		}
	}
	return nil
}

// collect reads answers until there are all.
func (l drill) collect(ctx context.Context, office fleet.Office, id string, stdout io.Writer, began time.Time) (int, error) {
	seen, told := 0, 0
	for seen < l.tasks {
		page, err := office.Answers(ctx, fleet.Question{Sweep: id, After: seen, Wait: time.Second})
		if err != nil {
			return seen, err
		}
		seen += len(page.Answers)
		if seen-told >= l.tasks/10 {
			told = seen
			fmt.Fprintf(stdout, "  %d after %.0f s\n", seen, time.Since(began).Seconds())
		}
	}
	return seen, nil
}

// peak is the most memory that a process has held, as the kernel counts it.
func peak(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if v, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// busyFor is the processor time that a process has used, all threads together.
func busyFor(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, found := strings.Cut(string(b), ") ")
	fields := strings.Fields(after)
	if err != nil || !found || len(fields) < 13 {
		return "an unknown time"
	}
	const ticks = 100 // a second, on every Linux
	user, errU := strconv.Atoi(fields[11])
	system, errS := strconv.Atoi(fields[12])
	if errU != nil || errS != nil {
		return "an unknown time"
	}
	return fmt.Sprintf("%.1f s", float64(user+system)/ticks)
}

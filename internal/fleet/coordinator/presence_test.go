package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/worker"
	"assay/internal/platform"
	"assay/internal/progress"
)

// Of two workers of one name on one machine the one that was started later works, and the other ends and says why: they
// do not take each other's place again and again.
func TestSameName(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	first := announcement("a")
	ended := make(chan error, 1)
	go func() {
		ended <- worker.New(worker.Config{
			Announcement: first, Desk: g, Queue: g.queue, Carrier: carrier(works), Refused: func(error) bool { return true },
		}).Run(t.Context())
	}()
	g.until("the first worker is there", func(s fleet.Status) bool { return len(s.Workers) == 1 && s.Workers[0].Alive })
	g.work("a", works, func(c *worker.Config) { c.Incarnation, c.Where = "a-2", first.Where })
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "another worker called a was started") || !strings.Contains(err.Error(), "--name") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("two workers of one name go on")
	}
	g.send("s1", noops(20, cell.Plan{}, fleet.Needs{})...)
	g.answers("s1")
	if s, err := g.Status(t.Context()); err != nil || s.Tally.Attempts != 20 || s.Tally.Lost != 0 {
		t.Errorf("%v, %+v", err, s.Tally)
	}
}

// A worker that is stopped says so: it is gone at once, and what lay ready there goes to others long before a lease has passed.
func TestLeaving(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{Lease: time.Minute})
	begun := make(chan struct{}, 100)
	stop := g.work("a", func(ctx context.Context, c cell.Cell) (cell.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return cell.Result{}, ctx.Err()
	})
	g.send("s1", noops(3, cell.Plan{}, fleet.Needs{})...)
	<-begun
	stop()
	if s, err := g.Status(t.Context()); err != nil || s.Workers[0].Alive {
		t.Errorf("it is still taken for alive: %v, %+v", err, s.Workers)
	}
	g.work("b", works)
	if n := len(g.answers("s1")); n != 3 {
		t.Errorf("%d answers", n)
	}
	if s, err := g.Status(t.Context()); err != nil || s.Tally.Dead != 0 {
		t.Errorf("%v, %+v", err, s.Tally)
	}
}

// silent is a desk that nobody reaches any more.
type silent struct {
	fleet.Desk
	cut atomic.Bool
}

func (s *silent) Beat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	if s.cut.Load() {
		return fleet.Orders{}, errors.New("cut off")
	}
	return s.Desk.Beat(ctx, b)
}

// Tasks that only a worker can run which was cut off wait for it, and whoever sent them is told; after a while they do no longer.
func TestAwaited(t *testing.T) {
	t.Parallel()
	var later atomic.Int64 // what the coordinator's clock is ahead
	g := newGround(t, Config{Lease: 2 * time.Second, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	desk := &silent{Desk: g}
	g.work("a", works, func(c *worker.Config) { c.Desk = desk })
	g.send("s1", noops(1, cell.Plan{}, fleet.Needs{})...)
	g.answers("s1")
	desk.cut.Store(true)
	g.until("it is not heard", func(s fleet.Status) bool { return !s.Workers[0].Alive })
	g.send("s2", noops(2, cell.Plan{}, fleet.Needs{})[1:]...)
	stranded := func() (s fleet.Stranded) {
		g.until("the task is stranded", func(x fleet.Status) bool {
			if len(x.Stranded) > 0 {
				s = x.Stranded[0]
			}
			return len(x.Stranded) > 0
		})
		return s
	}
	if s := stranded(); s.Awaits != "a" || !strings.Contains(s.Missing, "worker a has") {
		t.Errorf("%+v", s)
	}
	later.Store(int64(6 * time.Minute))
	g.until("nobody waits for it any more", func(x fleet.Status) bool { return len(x.Stranded) > 0 && x.Stranded[0].Awaits == "" })
	desk.cut.Store(false)
	if n := len(g.answers("s2")); n != 1 {
		t.Errorf("%d answers when it was back", n)
	}
}

// phones is a worker's web lab: one guest, who comes and goes.
type phones struct {
	carrier
	mu    sync.Mutex
	guest *cell.Host
	asked []string // guests by name
}

func (p *phones) CarryAt(ctx context.Context, plan cell.Plan, name string, on progress.Listener) (*cell.Host, error) {
	p.mu.Lock()
	guest := p.guest
	p.asked = append(p.asked, name)
	p.mu.Unlock()
	if guest == nil {
		return nil, worker.ErrAway
	}
	return guest, p.Carry(ctx, plan, on)
}

func (p *phones) is(guest *cell.Host) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guest = guest
}

// What a guest of a worker has becomes the worker's, its results are of the guest's machine, and a task that it leaves behind
// waits for the next one.
func TestGuests(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	p := &phones{carrier: works}
	c := worker.Config{Announcement: announcement("lab"), Desk: g, Queue: g.queue, Carrier: p}
	own := c.Offers
	w := worker.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	offer := fleet.Offer{Target: platform.Target{Platform: platform.WebGPU, Browser: "chrome"}.Normal()}
	web := func(seed int) fleet.Task {
		return fleet.NewTask(cell.Cell{Type: "bert", Target: "webgpu@chrome", Seed: seed}, cell.Plan{Strict: true}, fleet.Needs{})
	}
	g.send("s1", web(1))
	g.until("nobody can run it", func(s fleet.Status) bool {
		return len(s.Stranded) == 1 && strings.Contains(s.Stranded[0].Missing, "lab lacks webgpu@chrome")
	})
	p.is(&cell.Host{ID: "phone"})
	w.Offer(append(own, offer))
	if f := g.answers("s1"); len(f) != 1 || f[0].Worker != "lab" || f[0].Host.ID != "phone" {
		t.Errorf("%+v", f)
	}
	p.is(nil) // it has gone, and the coordinator does not know yet
	g.send("s2", web(2))
	g.until("it was given back", func(s fleet.Status) bool { return s.Tally.Attempts >= 2 })
	w.Offer(own)
	g.until("it waits for another guest", func(s fleet.Status) bool { return len(s.Stranded) == 1 && s.Tally.Dead == 0 })
	p.is(&cell.Host{ID: "tablet"})
	w.Offer(append(own, offer))
	if f := g.answers("s2"); len(f) != 1 || f[0].Host.ID != "tablet" {
		t.Errorf("%+v", f)
	}
	named := offer
	named.Guest = "lab-2"
	w.Offer(append(own, offer, named))
	task := web(3)
	task.Needs.Labels = map[string]string{fleet.GuestLabel: "lab-2"}
	g.send("s3", task)
	if f := g.answers("s3"); len(f) != 1 || p.asked[len(p.asked)-1] != "lab-2" {
		t.Errorf("%+v, of guests %q", f, p.asked)
	}
}

// An answer that was still on its way when its worker failed a health check is marked like those before it.
func TestAnswerBehindHealthCheck(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	if _, err := g.Hello(t.Context(), announcement("a")); err != nil {
		t.Fatal(err)
	}
	task := noops(1, cell.Plan{}, fleet.Needs{})[0]
	g.send("s1", task)
	grant, err := g.Begin(t.Context(), fleet.Beginning{Worker: "a", Incarnation: "a-1", Key: task.Key})
	if err != nil || !grant.Run {
		t.Fatalf("%+v, %v", grant, err)
	}
	if _, err := g.Health(t.Context(), fleet.Health{Worker: "a", Incarnation: "a-1", Wrong: "2 and 2 were 5"}); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(cell.Result{Cell: task.Cell, Verdict: cell.Works, Evidence: cell.Measured})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := g.Finish(t.Context(), fleet.Answer{Key: task.Key, Attempt: grant.Attempt, Worker: "a", Incarnation: "a-1", Results: []json.RawMessage{body}}); err != nil || o != fleet.Accepted {
		t.Fatalf("%s, %v", o, err)
	}
	if p, err := g.Answers(t.Context(), fleet.Question{Sweep: "s1"}); err != nil || len(p.Suspect) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A grant that its worker never heard of, because the coordinator's answer did not reach it, is no death: a task is not called a
// crash for it.
func TestGrantedInVain(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{Lease: 500 * time.Millisecond})
	task := noops(1, cell.Plan{}, fleet.Needs{})[0]
	for _, name := range []string{"a", "b", "c"} {
		if _, err := g.Hello(t.Context(), announcement(name)); err != nil {
			t.Fatal(err)
		}
	}
	g.send("s1", task)
	for i, name := range []string{"a", "b", "c"} {
		grant, err := g.Begin(t.Context(), fleet.Beginning{Worker: name, Incarnation: name + "-1", Key: task.Key})
		if err != nil || !grant.Run || grant.Attempt != i+1 {
			t.Fatalf("%s: %+v, %v", name, grant, err)
		}
		g.until("the attempt is given up", func(s fleet.Status) bool {
			for _, x := range []string{"a", "b", "c"} {
				if _, err := g.Beat(t.Context(), fleet.Beat{Worker: x, Incarnation: x + "-1"}); err != nil {
					t.Fatal(err)
				}
			}
			return s.Tally.Lost == i+1
		})
	}
	if s, err := g.Status(t.Context()); err != nil || s.Tally.Dead != 0 || s.Tasks[fleet.Queued] != 1 {
		t.Errorf("%v, %+v, %v", err, s.Tally, s.Tasks)
	}
}

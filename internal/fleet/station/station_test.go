package station

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/cable"
	"assay/internal/fleet/jetstream"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/wire"
	"assay/internal/fleet/worker"
	"assay/internal/platform"
	"assay/internal/progress"

	"github.com/nats-io/nats.go"
)

func opened(t *testing.T, o Options) *Station {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait(); _ = s.Close() })
	return s
}

// runs is a worker's machine: each cell gives a result with a log of some size.
type runs struct {
	log   int
	begun chan string
}

func (r runs) Carry(_ context.Context, plan cell.Plan, on progress.Listener) error {
	for _, c := range plan.Cells {
		if r.begun != nil {
			r.begun <- c.Hash
		}
		if err := on.Hear(progress.Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, Note: strings.Repeat("x", r.log), StartedAt: time.Now()})); err != nil {
			return err
		}
	}
	return nil
}

// join starts a worker with a ticket.
func join(t *testing.T, ticket keys.Ticket, name string, carrier worker.Carrier) {
	t.Helper()
	nc, err := ticket.Connect(wire.Options{Name: name, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	q, err := jetstream.Open(nc, fleet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(nc, name, 3*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = worker.New(worker.Config{
			Announcement: fleet.Announcement{
				Protocol: fleet.Protocol, Worker: name, Incarnation: name + "-1", Slots: 1, Where: name, Host: cell.Host{ID: "host-" + name},
				Offers: []fleet.Offer{{Target: platform.Target{Platform: platform.CPU, Engine: platform.Noop}.Normal()}},
			},
			Desk: client, Queue: q, Carrier: carrier, Hear: client.Hear, Refused: wire.Refused, Say: func(s string) { t.Log(name, s) },
		}).Run(ctx)
	})
	t.Cleanup(func() { cancel(); wg.Wait(); nc.Close() })
}

func office(t *testing.T, ticket keys.Ticket) *wire.Client {
	t.Helper()
	nc, err := ticket.Connect(wire.Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return wire.NewClient(nc, ticket.Name, 5*time.Second)
}

func noops(from, n int) []fleet.Task {
	var out []fleet.Task
	for i := range n {
		out = append(out, fleet.NewTask(cell.Cell{Type: "noop", Engine: platform.Noop, Seed: from + i}, cell.Plan{Timing: cell.Functional}, fleet.Needs{}))
	}
	return out
}

// sweep sends no-ops and returns their answers.
func sweep(t *testing.T, o fleet.Office, id string, tasks []fleet.Task) []fleet.Final {
	t.Helper()
	if _, err := o.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: id, Tasks: len(tasks)}, Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	return follow(t, o, id)
}

func follow(t *testing.T, o fleet.Office, id string) []fleet.Final {
	t.Helper()
	var out []fleet.Final
	var failed error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		p, err := o.Answers(t.Context(), fleet.Question{Sweep: id, After: len(out), Wait: time.Second})
		if err != nil {
			failed = err
			time.Sleep(200 * time.Millisecond)
			continue
		}
		out = append(out, p.Answers...)
		if p.Left == 0 {
			return out
		}
	}
	t.Fatalf("%d answers, and no more came: %v", len(out), failed)
	return nil
}

// A result that is larger than a message arrives whole, from the worker and to the user.
func TestHuge(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Open: true, Lease: 5 * time.Second})
	ticket := keys.Ticket{URL: s.URL()}
	join(t, ticket, "a", runs{log: 5 << 20})
	answers := sweep(t, office(t, ticket), "s1", noops(1, 2))
	if len(answers) != 2 || len(answers[0].Results[0]) < 5<<20 {
		t.Errorf("%d answers, the first with %d bytes", len(answers), len(answers[0].Results[0]))
	}
}

// A result that is too large for a fleet gives a verdict that says so, and the worker goes on.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Open: true, Lease: 5 * time.Second})
	ticket := keys.Ticket{URL: s.URL()}
	join(t, ticket, "a", runs{log: fleet.MostAnswer + 1})
	answers := sweep(t, office(t, ticket), "s1", noops(1, 2))
	if len(answers) != 2 || !strings.Contains(answers[1].Why, "32 MB of a task at most") {
		t.Errorf("%d answers, %s", len(answers), answers[0].Why)
	}
}

// Each key opens what its role needs and no more; one that is revoked is cut off.
func TestKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir, Lease: 3 * time.Second})
	ticket := func(name string, role keys.Role) keys.Ticket {
		tk, err := Ticket(dir, s.URL(), name, role, filepath.Join(dir, "tls.pem"))
		if err != nil {
			t.Fatal(err)
		}
		return tk
	}
	lab, other, anna := ticket("lab", keys.Worker), ticket("other", keys.Worker), ticket("anna", keys.User)
	if _, err := (keys.Ticket{URL: s.URL(), CA: lab.CA}).Connect(wire.Options{}); err == nil {
		t.Error("somebody without a key was let in")
	}
	if _, err := (keys.Ticket{URL: s.URL(), Seed: lab.Seed, Name: "lab"}).Connect(wire.Options{}); err == nil {
		t.Error("a server that nobody vouches for was believed")
	}
	time.Sleep(1500 * time.Millisecond) // until the server has read the keys
	join(t, lab, "lab", runs{log: 2 << 20})
	user := office(t, anna)
	if n := len(sweep(t, user, "s1", noops(1, 3))); n != 3 {
		t.Errorf("%d answers", n)
	}
	// A worker neither sends sweeps nor speaks for another.
	nc, err := other.Connect(wire.Options{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := wire.NewClient(nc, "other", time.Second).Status(t.Context()); err == nil {
		t.Error("a worker may ask what users ask")
	}
	if _, err := wire.NewClient(nc, "lab", time.Second).Beat(t.Context(), fleet.Beat{Worker: "lab", Incarnation: "lab-1"}); err == nil {
		t.Error("a worker speaks for another")
	}
	// Nobody sends a part of a message in another's name: the server drops it.
	refused := make(chan error, 10)
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
	for _, subject := range []string{wire.Desk + "finish.lab", wire.Office + "submit.other", "$O.assay-large.C.x", "$JS.API.STREAM.PURGE." + jetstream.Stream} {
		if err := errors.Join(nc.Publish(subject, nil), nc.FlushTimeout(5*time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := <-refused; !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", subject, err)
		}
	}
	// A user runs nothing.
	if _, err := user.Hello(t.Context(), fleet.Announcement{Worker: "anna"}); err == nil {
		t.Error("a user joins as a worker")
	}
	ring, err := keys.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Revoke("anna"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		if _, err := user.Status(t.Context()); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a revoked key still opens")
		}
	}
}

// A worker that was cut off for longer than its lease works again soon after it is back.
func TestCutOff(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Open: true, Lease: 2 * time.Second})
	ticket := keys.Ticket{URL: s.URL()}
	line, at := cable.Lay(t, strings.TrimPrefix(s.URL(), "nats://"))
	begun := make(chan string, 100)
	join(t, keys.Ticket{URL: "nats://" + at}, "far", runs{begun: begun})
	user := office(t, ticket)
	sweep(t, user, "s1", noops(1, 2))
	line.Cut()
	time.Sleep(5 * time.Second)
	if st, err := user.Status(t.Context()); err != nil || st.Workers[0].Alive {
		t.Errorf("%v: %+v", err, st.Workers)
	}
	for len(begun) > 0 {
		<-begun
	}
	if _, err := user.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s2", Tasks: 2}, Tasks: noops(10, 2)}); err != nil {
		t.Fatal(err)
	}
	line.Mend()
	back := time.Now()
	select {
	case <-begun:
		t.Logf("it began a task %s after it could be reached", time.Since(back))
	case <-time.After(30 * time.Second):
		t.Fatal("it does not come back")
	}
	if n := len(follow(t, user, "s2")); n != 2 {
		t.Errorf("%d answers", n)
	}
}

// A server that has ceased to store, as NATS does when its disk is full, ends the station once there is room; the next one
// goes on where it was, and every cell has one result.
func TestCeasedToStore(t *testing.T) {
	t.Parallel()
	for name, cease := range map[string]func(s *Station) error{
		"the store is closed": func(s *Station) error { return s.server.ShutdownJetStream() },
		"every change of it fails": func(s *Station) error {
			nc, err := keys.Ticket{URL: s.URL()}.Connect(wire.Options{Name: "test"})
			if err != nil {
				return err
			}
			defer nc.Close()
			_, err = nc.Request("$JS.API.STREAM.DELETE."+jetstream.Stream, nil, 5*time.Second)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Open: true, Lease: 5 * time.Second}
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.Run(t.Context()) }()
			ticket := keys.Ticket{URL: s.URL()}
			begun := make(chan string, 1000)
			join(t, ticket, "a", runs{begun: begun})
			user := office(t, ticket)
			if _, err := user.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s1", Tasks: 300}, Tasks: noops(1, 300)}); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				<-begun
			}
			if err := cease(s); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if !errors.Is(err, ErrStuck) {
					t.Fatal(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the station does not end")
			}
			if err := s.CloseLedger(); err != nil {
				t.Error(err)
			}
			s.server.Stop()
			o.Listen = strings.TrimPrefix(ticket.URL, "nats://")
			opened(t, o)
			seen := map[string]bool{}
			for _, f := range follow(t, user, "s1") {
				seen[f.Key] = true
			}
			if st, err := user.Status(t.Context()); err != nil || len(seen) != 300 || st.Tally.Accepted != 300 {
				t.Errorf("%d results, %v, %+v", len(seen), err, st.Tally)
			}
		})
	}
}

// Why somebody is not let in is said, once, and what to do about it.
func TestNotLetIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir})
	lab, err := Ticket(dir, s.URL(), "lab", keys.Worker, filepath.Join(dir, "tls.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for want, ticket := range map[string]keys.Ticket{
		"does not let this key in": {URL: s.URL(), CA: lab.CA},
		"with --ca":                {URL: s.URL(), Seed: lab.Seed, Name: "lab"},
		"cannot connect":           {URL: "nats://127.0.0.1:1"},
	} {
		said := make(chan string, 100)
		nc, err := ticket.Connect(wire.Options{Name: "x", Keep: true, On: func(text string) { said <- text }})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // several attempts
		nc.Close()
		n := 0
		for len(said) > 0 {
			if text := <-said; strings.Contains(text, want) {
				n++
			} else {
				t.Logf("%q", text)
			}
		}
		if n == 0 || n > 2 {
			t.Errorf("%q was said %d times", want, n)
		}
	}
}

// A request that was under way when the connection was lost is not waited for once it has been made again.
func TestAskedBefore(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Open: true})
	line, at := cable.Lay(t, strings.TrimPrefix(s.URL(), "nats://"))
	user := office(t, keys.Ticket{URL: "nats://" + at})
	if _, err := user.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s1", Tasks: 2}, Tasks: noops(1, 1)}); err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() { // nobody answers for twenty seconds
		_, err := user.Answers(t.Context(), fleet.Question{Sweep: "s1", Wait: 20 * time.Second})
		asked <- err
	}()
	time.Sleep(500 * time.Millisecond) // until it is asked; where it was not, there is nothing to see
	line.Cut()
	time.Sleep(time.Second)
	line.Mend()
	if err := <-asked; err == nil || errors.Is(err, wire.ErrAway) {
		t.Errorf("it was waited for to the end: %v", err)
	}
}

// A second coordinator on the same NATS, or in the same folder, is refused.
func TestOne(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Open: true})
	if x, err := Open(t.Context(), Options{Dir: t.TempDir(), NATS: s.URL()}); err == nil {
		_ = x.Close()
		t.Error("two coordinators share one NATS")
	}
	if x, err := Open(t.Context(), Options{Dir: s.o.Dir, Open: true, Listen: "127.0.0.1:0"}); err == nil {
		t.Error(errors.Join(errors.New("two coordinators share one folder"), x.Close()))
	}
}

// reopened is a coordinator that may be stopped and started at the same address.
func reopened(t *testing.T, o Options) (s *Station, stop func()) {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); wg.Wait(); _ = s.Close() })
	t.Cleanup(stop)
	return s, stop
}

// A coordinator that is stopped refuses nobody: who waits for answers asks the next one. Workers that beat only now and then
// are with that one within seconds.
func TestStartedAgain(t *testing.T) {
	t.Parallel()
	o := Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Open: true, Lease: time.Minute}
	s, stop := reopened(t, o)
	o.Listen = strings.TrimPrefix(s.URL(), "nats://")
	ticket := keys.Ticket{URL: s.URL()}
	begun := make(chan string, 100)
	join(t, ticket, "a", runs{begun: begun})
	user := office(t, ticket)
	sweep(t, user, "s1", noops(1, 2))
	<-begun
	<-begun
	if _, err := user.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s2", Tasks: 2}, Tasks: noops(3, 1)}); err != nil { // the second never comes
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	follow(t, user, "s1")
	<-begun
	go func() {
		_, err := user.Answers(t.Context(), fleet.Question{Sweep: "s2", After: 1, Wait: 20 * time.Second})
		asked <- err
	}()
	time.Sleep(500 * time.Millisecond) // until it waits; where it does not there is nothing to see
	stop()
	if err := <-asked; err == nil || wire.Refused(err) {
		t.Errorf("who waited for answers was told %v", err)
	}
	reopened(t, o)
	back := time.Now()
	for {
		if _, err := user.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s3", Tasks: 1}, Tasks: noops(10, 1)}); err == nil {
			break
		}
		if time.Since(back) > time.Minute {
			t.Fatal("it does not answer again")
		}
	}
	select {
	case <-begun:
		if took := time.Since(back); took > 5*time.Second {
			t.Errorf("a worker began a task %s after the coordinator was there again", took)
		}
	case <-time.After(time.Minute):
		t.Fatal("no worker begins a task")
	}
}

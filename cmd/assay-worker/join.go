package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/exports"
	"assay/internal/fleet"
	"assay/internal/fleet/health"
	"assay/internal/fleet/jetstream"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/wire"
	fleetworker "assay/internal/fleet/worker"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/session"
)

// joinFlags are those of join.
type joinFlags struct {
	flags
	name, ca string
	labels   map[string]string
	noops    bool
	allowHub bool
	// of the web lab: where it listens, and a certificate for it
	webLab, cert, certKey string
}

// parseJoin reads the arguments of join; the first is the coordinator.
func parseJoin(args []string) (*joinFlags, string, error) {
	f := &joinFlags{flags: flags{FlagSet: flag.NewFlagSet("join", flag.ContinueOnError)}, labels: map[string]string{}}
	f.SetOutput(io.Discard)
	f.StringVar(&f.python, "python", "", "")
	f.StringVar(&f.name, "name", "", "")
	f.StringVar(&f.ca, "ca", "", "")
	f.StringVar(&f.webLab, "web-lab", "", "")
	f.StringVar(&f.cert, "cert", "", "")
	f.StringVar(&f.certKey, "cert-key", "", "")
	f.StringVar(&f.policy, "policy", "", "")
	f.IntVar(&f.workers, "workers", 0, "")
	f.DurationVar(&f.timeout, "timeout", 0, "")
	f.BoolVar(&f.noSetup, "no-setup", false, "")
	f.BoolVar(&f.noops, "noop", false, "")
	f.BoolVar(&f.allowHub, "allow-hub", false, "")
	f.BoolVar(&f.want.Pickle, "allow-pickle", false, "")
	f.BoolVar(&f.want.Code, "trust-remote-code", false, "")
	f.Func("env", "", func(name string) error {
		f.pass = append(f.pass, strings.Split(name, ",")...)
		return nil
	})
	f.Func("label", "", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not NAME=VALUE", text)
		}
		f.labels[name] = value
		return nil
	})
	var at string
	if len(args) > 0 && (args[0] == "-" || !strings.HasPrefix(args[0], "-")) {
		at, args = args[0], args[1:]
	}
	if err := f.Parse(args); err != nil {
		return nil, "", usageError{err}
	}
	if at == "" && f.NArg() == 1 {
		at = f.Arg(0)
	} else if f.NArg() > 0 {
		return nil, "", usageError{fmt.Errorf("unknown argument %q", f.Arg(0))}
	}
	if at == "" {
		return nil, "", usageError{errors.New("join needs the coordinator: an address (nats://host:4222) or a ticket's file")}
	}
	if f.timeout < 0 || f.workers < 0 {
		return nil, "", usageError{errors.New("--timeout and --workers must not be negative")}
	}
	switch {
	case f.webLab == "" && (f.cert != "" || f.certKey != ""):
		return nil, "", usageError{errors.New("--cert and --cert-key are for --web-lab; the coordinator's certificate is given with --ca")}
	case (f.cert == "") != (f.certKey == ""):
		return nil, "", usageError{errors.New("--cert and --cert-key must be given together")}
	case f.webLab != "" && f.noops:
		return nil, "", usageError{errors.New("--web-lab and --noop cannot be used together")}
	}
	f.offline = !f.allowHub
	return f, at, nil
}

// ticket is what lets the worker in. One that comes by standard input is worth something as long as
// that is open: whoever started the worker is there.
func (f *joinFlags) ticket(at string, stdin io.Reader, stop func()) (ticket keys.Ticket, err error) {
	if at == "-" {
		ticket, err = keys.From(stdin)
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			stop()
		}()
	} else {
		ticket, err = keys.Read(at)
	}
	if err == nil {
		err = ticket.For(keys.Worker)
	}
	if err != nil || f.ca == "" {
		return ticket, err
	}
	body, err := os.ReadFile(f.ca)
	ticket.CA = string(body)
	return ticket, err
}

// join works for a coordinator until it is stopped.
func join(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer) error {
	f, at, err := parseJoin(args)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ticket, err := f.ticket(at, stdin, stop)
	if err != nil {
		return usageError{err}
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	s, held, err := f.session(cat, stderr)
	if err != nil {
		return err
	}
	defer held.Close()
	defer s.Close()
	say := sayer(stderr)
	a, err := f.announce(ctx, s, ticket, say)
	if err != nil {
		return err
	}
	nc, err := ticket.Connect(wire.Options{Name: "assay-worker " + a.Worker, Keep: true, On: say})
	if err != nil {
		return err
	}
	defer nc.Close()
	q, err := jetstream.Open(nc, fleet.Limits{})
	if err != nil {
		return err
	}
	known, _ := cat.Fingerprint(health.Subject, "")
	c := fleetworker.Config{Announcement: a, Queue: q, Carrier: s, Say: say, Refused: wire.Refused}
	client := wire.NewClient(nc, a.Worker, 5*time.Second)
	c.Desk, c.Hear = client, client.Hear
	c.Check = func(ctx context.Context) (string, []cell.Result) { return healthy(ctx, s, a, known) }
	if f.webLab == "" {
		say(fmt.Sprintf("worker %s joins %s with %s, %d at a time", a.Worker, ticket.URL, offered(a), a.Slots))
		return fleetworker.New(c).Run(ctx)
	}
	l := newLodge(s, a.Offers, say)
	lab, err := l.serve(ctx, f, a.Worker, stderr)
	if err != nil {
		return err
	}
	defer lab.Close()
	c.Carrier = l
	w := fleetworker.New(c)
	l.tell(w.Offer)
	say(fmt.Sprintf("worker %s joins %s with the browsers of its guests, %d at a time", a.Worker, ticket.URL, a.Slots))
	return w.Run(ctx)
}

// sayer prints lines from several goroutines.
func sayer(w io.Writer) func(string) {
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(w, text)
	}
}

// session opens what runs cells here.
func (f *joinFlags) session(cat *catalog.Catalog, stderr io.Writer) (*session.Session, *confined, error) {
	m, folders, err := maker(&f.flags, stderr)
	if err != nil {
		return nil, nil, err
	}
	limit, err := exports.LimitFrom(os.Getenv)
	if err != nil {
		return nil, nil, usageError{err}
	}
	held, err := f.underPolicy(folders, stderr)
	if err != nil {
		return nil, nil, err
	}
	return session.New(session.Options{
		Environments: session.Chosen{Maker: m, Choice: environment.Choice{Python: f.python, NoSetup: f.noSetup}}, Folders: folders, Confine: held.wrap(),
		Catalog: cat, Workers: f.workers, Limit: f.timeout, ExportsLimit: limit, Version: version,
		Weights: session.Weights{Hub: f.hub, Want: f.want, Fresh: true},
	}), held, nil
}

// announce is what this machine has to offer.
func (f *joinFlags) announce(ctx context.Context, s *session.Session, t keys.Ticket, say func(string)) (fleet.Announcement, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	machine := tidy(host)
	if f.webLab != "" {
		machine = tidy(host[:min(len(host), 53)] + "-guests") // beside the machine's own worker
	}
	a := fleet.Announcement{
		Protocol: fleet.Protocol, Worker: cmp.Or(strings.ReplaceAll(f.name, ".", "-"), t.Name, machine), // names of nodes have dots
		Incarnation: rand.Text()[:10], Version: version,
		Host: s.Host(), Where: where(host), Labels: f.labels, Slots: cmp.Or(f.workers, min(16, runtime.GOMAXPROCS(0))),
		Allows: fleet.Policy{Hub: !f.offline, Pickle: f.want.Pickle, Code: f.want.Code},
		Offers: []fleet.Offer{{Target: platform.Target{Platform: platform.CPU, Engine: platform.Noop}.Normal()}},
	}
	if err := fleet.CheckName(a.Worker); err != nil {
		return a, usageError{err}
	}
	if t.Seed != "" && a.Worker != t.Name {
		return a, usageError{fmt.Errorf("the ticket is for a worker called %s: leave --name out", t.Name)}
	}
	if f.noops {
		return a, nil
	}
	if f.webLab != "" { // what its guests have, and nothing of this machine's
		a.Slots = max(1, f.workers)
		return a, nil
	}
	say("looking at what this machine has")
	has, err := s.Targets(ctx)
	if err != nil {
		return a, err
	}
	a.Offers = append(a.Offers, offersOf(has)...)
	a.Versions, err = s.Versions(ctx)
	return a, err
}

// offered lists what a worker offers, for people.
func offered(a fleet.Announcement) string {
	var out []string
	for _, o := range a.Offers {
		out = append(out, o.Target.String())
	}
	return strings.Join(out, ", ")
}

// tidy makes a name of a worker out of a host's.
func tidy(host string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, host[:min(len(host), 60)])
}

// where tells machines apart: all that run under one kernel are one, whatever
// containers they are in.
func where(host string) string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		id = []byte(host)
	}
	sum := sha256.Sum256(append([]byte("assay/where\n"), id...))
	return hex.EncodeToString(sum[:6])
}

// vouched are the targets of a worker that its health cells run on: not those that
// only convert, and none that needs a browser opened.
func vouched(a fleet.Announcement) fleet.Announcement {
	a.Offers = slices.DeleteFunc(slices.Clone(a.Offers), func(o fleet.Offer) bool {
		is := o.Target.Engine.Traits()
		return is.Anywhere || is.Pages || o.Software
	})
	return a
}

// healthy runs cells whose answers are known.
func healthy(ctx context.Context, s *session.Session, a fleet.Announcement, known *health.Answer) (wrong string, results []cell.Result) {
	cells := health.Cells(vouched(a))
	plan, err := cell.Plan{Timing: cell.Functional, Strict: true, Cells: cells}.Normal()
	if err != nil {
		return err.Error(), nil
	}
	err = s.Carry(ctx, plan, progress.Func(func(e progress.Event) error {
		if e.Kind == progress.KindFinished {
			results = append(results, *e.Result)
		}
		return nil
	}))
	if err == nil {
		err = health.Check(cells, results, known)
	}
	if err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "; "), results
	}
	return "", results
}

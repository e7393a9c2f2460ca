// Package station puts the parts together for a program that coordinates a
// fleet: a NATS server in this process, or a cluster elsewhere; the queue; the
// coordinator; the service that answers for it; and who may connect.
package station

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/coordinator"
	"assay/internal/fleet/embedded"
	"assay/internal/fleet/jetstream"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/wire"

	"github.com/nats-io/nats.go"
)

// Options are set once.
type Options struct {
	Dir    string // of the ledger, the keys and what NATS stores
	Listen string // of the server in this process: host:port
	// NATS is the address, or the ticket, of a cluster elsewhere, whose owner
	// decides who may connect; "" starts a server here.
	NATS     string
	Replicas int // servers of that cluster that hold each task; 0 is 1
	// Open lets everybody in who can reach the address.
	Open              bool
	Cert, CertKey     string // files; "" is a certificate of our own
	Hosts             []string
	Relaxed           bool // do not wait for the disk in the queue; the ledger always does
	Lease, CheckEvery time.Duration
	Patience          time.Duration
	Version           string
	Log               *slog.Logger
}

// Station is an open one.
type Station struct {
	*coordinator.Coordinator
	o       Options
	server  *embedded.Server
	nc      *nats.Conn
	queue   *watched
	service *wire.Service
	own     string // the coordinator's own public key
	ca      string
}

// Open starts everything; Run does the work.
func Open(ctx context.Context, o Options) (*Station, error) {
	s := &Station{o: o}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Station) open(ctx context.Context) (err error) {
	if s.o.NATS == "" {
		err = s.serve()
	} else {
		err = s.connect()
	}
	if err != nil {
		return err
	}
	if err := alone(ctx, s.nc); err != nil {
		return err
	}
	limits := fleet.Limits{Lease: s.o.Lease}
	q, err := jetstream.Create(ctx, s.nc, jetstream.Config{Limits: limits, Replicas: s.o.Replicas})
	if err != nil {
		return err
	}
	s.queue = &watched{Queue: q}
	s.Coordinator, err = coordinator.Open(coordinator.Config{
		Dir: s.o.Dir, Queue: s.queue, Lease: s.o.Lease, Version: s.o.Version, Log: s.o.Log, CheckEvery: s.o.CheckEvery, Patience: s.o.Patience,
		News: func() { _ = s.nc.Publish(wire.News, nil) },
	})
	if err != nil {
		return err
	}
	if s.service, err = wire.Serve(ctx, s.nc, s.Coordinator, s.Coordinator); err != nil {
		return err
	}
	s.service.News() // workers that are there already need not wait for their next beat
	return nil
}

// alone refuses to be the second coordinator of one NATS.
func alone(ctx context.Context, nc *nats.Conn) error {
	if _, err := wire.NewClient(nc, "", 2*time.Second).Status(ctx); err == nil {
		return errors.New("another coordinator answers there: a fleet has one")
	}
	return nil
}

// serve starts a server in this process.
func (s *Station) serve() error {
	o := embedded.Options{Listen: s.o.Listen, Dir: s.o.Dir, Relaxed: s.o.Relaxed, MaxPayload: 1 << 20}
	var options []nats.Option
	if !s.o.Open {
		c, ca, err := keys.Certificate(s.o.Dir, s.o.Cert, s.o.CertKey, s.hosts(), time.Now())
		if err != nil {
			return err
		}
		o.TLS, s.ca = keys.ServerTLS(c), ca
		own, option, err := keys.Coordinator()
		if err != nil {
			return err
		}
		s.own = own
		if o.Users, err = s.users(); err != nil {
			return err
		}
		options = append(options, option, nats.Secure(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // within this process
	}
	server, err := embedded.Start(o)
	if err != nil {
		return err
	}
	s.server = server
	s.nc, err = server.Connect(options...)
	return err
}

// hosts are the names in a certificate of our own.
func (s *Station) hosts() []string {
	out := append([]string{"localhost", "127.0.0.1", "::1"}, s.o.Hosts...)
	if host, _, err := net.SplitHostPort(s.o.Listen); err == nil {
		out = append(out, host)
	}
	if name, err := os.Hostname(); err == nil {
		out = append(out, name)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return out
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok {
			out = append(out, ip.IP.String())
		}
	}
	return out
}

// connect connects to a cluster elsewhere.
func (s *Station) connect() error {
	t, err := keys.Read(s.o.NATS)
	if err != nil {
		return err
	}
	s.nc, err = t.Connect(wire.Options{Name: "assay coordinator", On: func(text string) { s.o.Log.Warn(text) }})
	return err
}

func (s *Station) users() ([]keys.Rights, error) {
	ring, err := keys.Open(s.o.Dir)
	if err != nil {
		return nil, err
	}
	return ring.Rights(s.own), nil
}

// URL is where workers and users connect.
func (s *Station) URL() string {
	if s.server == nil {
		return s.o.NATS
	}
	return s.server.ClientURL() // tls:// where it uses that
}

// ErrStuck says that the server in this process will store nothing more, though its disk has room again: the process has to
// be started again. Nothing is lost by it.
var ErrStuck = errors.New("the queue has ceased to store")

// Run works until ctx is done, or the queue is stuck.
func (s *Station) Run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var wg sync.WaitGroup
	var stuck error // written before wg is done
	if s.own != "" {
		wg.Go(func() { s.watch(ctx) })
	}
	if s.server != nil {
		wg.Go(func() {
			if stuck = s.await(ctx); stuck != nil {
				end()
			}
		})
	}
	err := s.Coordinator.Run(ctx)
	end()
	wg.Wait()
	return errors.Join(stuck, err)
}

// mostFailed is how many changes of the queue may fail one after the other.
const mostFailed = 3

// watched is the queue, and how many changes of it have failed since one did not.
type watched struct {
	*jetstream.Queue
	failed atomic.Int32
}

func (q *watched) note(ctx context.Context, err error) {
	switch {
	case err == nil:
		q.failed.Store(0)
	case ctx.Err() == nil && !errors.Is(err, fleet.ErrFull):
		q.failed.Add(1)
	}
}

// Put queues tasks.
func (q *watched) Put(ctx context.Context, tasks ...fleet.Task) ([]string, error) {
	known, err := q.Queue.Put(ctx, tasks...)
	q.note(ctx, err)
	return known, err
}

// Remove takes a task out.
func (q *watched) Remove(ctx context.Context, lane, key string) error {
	err := q.Queue.Remove(ctx, lane, key)
	q.note(ctx, err)
	return err
}

// await returns ErrStuck when the server has ceased to store because its disk was full, and there is room again; nil when ctx
// is done. What NATS 2.15 does when a write fails differs: it closes the store, or keeps the error for ever, or waits for
// itself. And a store that is opened again has races with the clients of the old one; a new process has neither.
func (s *Station) await(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if s.server.JetStreamEnabled() && s.queue.failed.Load() < mostFailed {
			continue
		}
		if !told {
			s.o.Log.Error("the queue has ceased to store: is the disk full? It goes on when there is room")
			told = true
		}
		if s.server.Room() == nil {
			return ErrStuck
		}
	}
}

// watch lets in whoever gets a key, and cuts off whose key is revoked.
func (s *Station) watch(ctx context.Context) {
	path := filepath.Join(s.o.Dir, "keys.json")
	var last time.Time // of the keys that are in force: unknown at first, since they may have changed since the start
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		info, err := os.Stat(path)
		if err != nil || info.ModTime().Equal(last) {
			continue
		}
		users, err := s.users()
		if err == nil {
			err = s.server.SetUsers(users)
		}
		if err != nil { // it is tried again: a revoked key must not stay
			s.o.Log.Error("who may connect could not be changed", "error", err)
			continue
		}
		last = info.ModTime()
	}
}

// CloseLedger writes down what is known and answers nobody any more, without waiting for a server that is stuck.
func (s *Station) CloseLedger() error {
	s.service.Stop()
	return s.Coordinator.Close()
}

// Close ends what was started.
func (s *Station) Close() error {
	var err error
	if s.service != nil {
		s.service.Stop()
	}
	if s.Coordinator != nil {
		err = s.Coordinator.Close()
	}
	if s.nc != nil {
		s.nc.Close()
	}
	if s.server != nil {
		s.server.Stop()
	}
	return err
}

// Ticket is what somebody is given who has got a key; at is the address by which
// they reach the coordinator.
func Ticket(dir, at, name string, role keys.Role, cert string) (keys.Ticket, error) {
	ring, err := keys.Open(dir)
	if err != nil {
		return keys.Ticket{}, err
	}
	ca, err := os.ReadFile(cert)
	if err != nil {
		return keys.Ticket{}, fmt.Errorf("the coordinator's certificate: %w: start the coordinator once so that it asks for keys (--addr 0.0.0.0:4222, or --keys), or name its certificate with --cert", err)
	}
	seed, err := ring.Add(name, role, time.Now())
	return keys.Ticket{URL: at, Name: name, Role: role, Seed: seed, CA: string(ca)}, err
}

// Package embedded is a NATS server with JetStream in this process, for those who
// have no other one. Every task is on the disk before it is acknowledged.
package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"assay/internal/fleet/keys"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// users are those who may connect, as the server knows them.
func users(all []keys.Rights) []*server.NkeyUser {
	var out []*server.NkeyUser
	for _, r := range all {
		u := &server.NkeyUser{Nkey: r.Public}
		if !r.All {
			u.Permissions = &server.Permissions{
				Publish: &server.SubjectPermission{Allow: r.Publish}, Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
			}
		}
		out = append(out, u)
	}
	return out
}

// Options are those of an embedded server.
type Options struct {
	Listen string // host:port; port 0 is any that is free
	Dir    string // what it stores
	// Relaxed leaves it to the system when what is stored reaches the disk; else every
	// task is there before it is acknowledged.
	Relaxed bool
	TLS     *tls.Config
	Users   []keys.Rights // nil lets everybody in
	// MaxPayload is the largest message, in bytes; 0 is 1 MiB.
	MaxPayload int32
	Log        server.Logger // nil is silent
}

// Server is NATS in this process.
type Server struct {
	*server.Server
	options *server.Options
}

// startup is how long a server may take to read what it has stored.
const startup = 30 * time.Second

// Start starts a server and returns when it can be connected to.
func Start(o Options) (*Server, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", o.Listen, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("address %q: the port is not a number", o.Listen)
	}
	// The server would try for half a minute, and not say why.
	free, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("nothing can listen on %s: %w", o.Listen, err)
	}
	if err := free.Close(); err != nil {
		return nil, err
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	opts := &server.Options{
		ServerName: "assay", Host: host, Port: n, NoSigs: true, NoLog: o.Log == nil,
		JetStream: true, StoreDir: filepath.Join(o.Dir, "queue"), SyncAlways: !o.Relaxed, JetStreamMaxStore: mostStored,
		TLSConfig: o.TLS, TLS: o.TLS != nil, Nkeys: users(o.Users), MaxPayload: o.MaxPayload,
		PingInterval: 5 * time.Second, MaxPingsOut: 2, WriteDeadline: 10 * time.Second,
	}
	if o.TLS != nil {
		opts.TLSTimeout = 5
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("start NATS: %w", err)
	}
	if o.Log != nil {
		s.SetLoggerV2(o.Log, false, false, false)
	}
	go s.Start()
	if !s.ReadyForConnections(startup) {
		s.Shutdown()
		return nil, errors.New("NATS did not start: is the disk full?")
	}
	return &Server{s, opts}, nil
}

// SetUsers replaces who may connect: those that are connected and no longer
// among them are cut off.
func (s *Server) SetUsers(all []keys.Rights) error {
	next := s.options.Clone()
	next.Nkeys = users(all)
	if err := s.ReloadOptions(next); err != nil {
		return fmt.Errorf("change who may connect: %w", err)
	}
	s.options = next
	return nil
}

// mostStored is more than any disk has: the disk itself is the limit, whatever was free of it at the start.
const mostStored = 1 << 50

// room is how much must be free on the disk for the store to begin again.
const room = 1 << 20

// Room says why nothing can be stored; it writes a file to find out.
func (s *Server) Room() error {
	f, err := os.CreateTemp(s.options.StoreDir, "room-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, room))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// Connect is a connection within the process.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append([]nats.Option{nats.InProcessServer(s), nats.Name("assay coordinator")}, options...)...)
}

// ending is how long a server may take to end: one whose store is stuck never does.
const ending = 15 * time.Second

// Stop ends the server and waits until it has.
func (s *Server) Stop() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Shutdown()
		s.WaitForShutdown()
	}()
	select {
	case <-ended:
	case <-time.After(ending):
	}
}

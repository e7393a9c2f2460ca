package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"assay/internal/fleet/station"

	"github.com/spf13/cobra"
)

// coordinatorFlags are those of coordinator.
type coordinatorFlags struct {
	station.Options
	locked  bool
	metrics string
}

func coordinatorCommand(a *app) *cobra.Command {
	f := &coordinatorFlags{}
	c := &cobra.Command{
		Use:   "coordinator",
		Short: "Share sweeps among many machines: workers join here, and users send their plans",
		Long: `Coordinator starts a fleet: it takes the sweeps that test, bench and matrix send with --fleet, hands their cells to
workers that can run them (assay-worker join), and keeps exactly one result for each. NATS runs inside it; --nats
uses a cluster that is there already. What counts is in its ledger, on the disk before anybody is told: it may be
killed and started again at any time.

On 127.0.0.1 everybody on this machine may connect. On any other address it uses TLS and lets in only those with a
key (assay fleet key add), unless --open says otherwise. Ctrl-C stops it.`,
		Example: `  assay coordinator
  assay coordinator --addr 0.0.0.0:4222
  assay coordinator --addr 0.0.0.0:4222 --cert fleet.pem --cert-key fleet-key.pem --metrics 127.0.0.1:9464
  assay coordinator --nats nats://nats-1:4222,nats://nats-2:4222 --replicas 3`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.coordinate(c.Context(), f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.Listen, "addr", "127.0.0.1:4222", "where to listen: host:port; 0.0.0.0 is every interface, port 0 a free one")
	fs.StringVar(&f.Dir, "dir", "", "folder of the ledger, the keys and the queue (default: fleet in the data folder)")
	fs.StringVar(&f.NATS, "nats", "", "use this NATS instead of one inside: addresses, or a ticket")
	fs.IntVar(&f.Replicas, "replicas", 1, "with --nats, servers that hold each task: 1, 3 or 5")
	fs.BoolVar(&f.Open, "open", false, "let everybody in who can reach the address: no keys, no TLS")
	fs.BoolVar(&f.locked, "keys", false, "want keys and TLS on 127.0.0.1 too")
	fs.StringVar(&f.Cert, "cert", "", "certificate (PEM) (default: a self-signed one, made once)")
	fs.StringVar(&f.CertKey, "cert-key", "", "its private key (PEM)")
	fs.StringSliceVar(&f.Hosts, "host", nil, "further names of this machine, for the self-signed certificate")
	fs.DurationVar(&f.Lease, "lease", 15*time.Second, "how long a worker may be silent before its cell goes to another one")
	fs.DurationVar(&f.CheckEvery, "check-every", 30*time.Minute, "how often workers show that they are healthy; 0 never")
	fs.BoolVar(&f.Relaxed, "relaxed", false, "do not wait for the disk in the queue (the ledger always does)")
	fs.StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at this address: host:port")
	return c
}

// check refuses what means nothing, and settles who may connect.
func (f *coordinatorFlags) check() error {
	if f.Lease < time.Second {
		return usage("--lease %s: it must be at least a second", f.Lease)
	}
	if f.CheckEvery < 0 {
		return usage("--check-every %s: it must not be negative", f.CheckEvery)
	}
	if f.NATS != "" {
		return nil
	}
	host, _, err := net.SplitHostPort(f.Listen)
	if err != nil {
		return usage("--addr %q: give host:port, such as 0.0.0.0:4222", f.Listen)
	}
	if f.Open && f.locked {
		return usage("--open and --keys cannot be used together")
	}
	ip := net.ParseIP(host)
	if !f.locked && (host == "localhost" || ip != nil && ip.IsLoopback()) {
		f.Open = true
	}
	return nil
}

// coordinate runs a coordinator until the user ends it.
func (a *app) coordinate(ctx context.Context, f *coordinatorFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	named := f.Dir
	dir, err := a.fleetDir(named)
	if err != nil {
		return err
	}
	f.Dir, f.Version, f.Log = dir, version, a.log
	s, err := station.Open(ctx, f.Options)
	if err != nil {
		return err
	}
	stop, err := a.serveMetrics(ctx, f.metrics, s)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	defer stop()
	a.say(fmt.Sprintf("the coordinator is at %s, its ledger in %s", s.URL(), dir))
	if f.Open || f.NATS != "" {
		a.say("join with:  assay-worker join " + s.URL())
		a.say("send with:  assay test --key --fleet " + s.URL())
	} else {
		a.say("let others in with:  " + letIn(s.URL(), named))
	}
	if err = s.Run(ctx); errors.Is(err, station.ErrStuck) {
		a.say(err.Error() + ": the coordinator starts again, and goes on where it was")
		at, err := url.Parse(s.URL())
		if err != nil {
			return errors.Join(s.CloseLedger(), err)
		}
		return errors.Join(s.CloseLedger(), startAgain("--addr", at.Host)) // where others know it, also if the port was any
	}
	return errors.Join(err, s.Close())
}

// letIn is the command that makes a ticket for a coordinator, whose folder was named or not.
func letIn(at, dir string) string {
	port := "PORT"
	if u, err := url.Parse(at); err == nil && u.Port() != "" {
		port = u.Port()
	}
	command := "assay fleet key add NAME --at tls://THIS-HOST:" + port
	if dir != "" {
		command += fmt.Sprintf(" --dir %q", dir)
	}
	return command + " > NAME.ticket"
}

// fleetDir is the coordinator's folder.
func (a *app) fleetDir(named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	folders, err := a.home().Folders()
	return filepath.Join(folders.Data, "fleet"), err
}

//go:build integration

package station

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/keys"

	"github.com/nats-io/nats-server/v2/server"
)

// cluster starts three NATS servers that know each other.
func cluster(t *testing.T) []*server.Server {
	t.Helper()
	var routes []string
	var ports []int
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, "nats://"+l.Addr().String())
		_ = l.Close()
	}
	var out []*server.Server
	for i, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: "n" + string(rune('1'+i)), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}, Routes: server.RoutesFromStr(strings.Join(routes, ",")),
		})
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		out = append(out, s)
	}
	for _, s := range out {
		if !s.ReadyForConnections(30 * time.Second) { // before that its address has no port
			t.Fatal("a server does not listen")
		}
		for end := time.Now().Add(30 * time.Second); !s.JetStreamIsCurrent(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the cluster does not form")
			}
		}
	}
	return out
}

// One server of three is lost in the middle of a sweep, and every cell has its result.
func TestIntegrationLostServer(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	all := strings.Join(urls, ",")
	var s *Station
	var err error
	for range 20 { // until the servers have chosen one that leads
		if s, err = Open(t.Context(), Options{Dir: t.TempDir(), NATS: all, Replicas: 3, Lease: 3 * time.Second}); err == nil {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait(); _ = s.Close() })
	ticket := keys.Ticket{URL: all}
	begun := make(chan string, 1000)
	join(t, ticket, "a", runs{begun: begun})
	join(t, ticket, "b", runs{begun: begun})
	user := office(t, ticket)
	if _, err := user.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s1", Tasks: 200}, Tasks: noops(1, 200)}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		<-begun
	}
	servers[1].Shutdown()
	seen := map[string]bool{}
	for _, f := range follow(t, user, "s1") {
		if seen[f.Key] {
			t.Errorf("two results of %s", f.Key)
		}
		seen[f.Key] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d cells have a result", len(seen))
	}
}

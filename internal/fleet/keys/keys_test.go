package keys

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Keys that several programs add at once are all there afterwards: each has read the
// ring before any of the others has written it.
func TestAddAtOnce(t *testing.T) {
	t.Parallel()
	const n = 8
	dir := t.TempDir()
	rings := make([]*Ring, n)
	for i := range rings {
		ring, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		rings[i] = ring
	}
	var wg sync.WaitGroup
	for i, ring := range rings {
		wg.Go(func() {
			if _, err := ring.Add(fmt.Sprintf("lab-%d", i), Worker, time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ring, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if name := fmt.Sprintf("lab-%d", i); !slices.ContainsFunc(ring.Keys, func(k Key) bool { return k.Name == name }) {
			t.Errorf("the key of %s is lost", name)
		}
	}
	// One that read the ring before a key was made cannot make it twice, and can revoke it.
	if _, err := rings[0].Add("lab-7", Worker, time.Now()); err == nil {
		t.Error("lab-7 has two keys")
	}
	if err := rings[0].Revoke("lab-7"); err != nil {
		t.Error(err)
	}
	if err := rings[1].Revoke("nobody"); err == nil {
		t.Error("a key that is not there was revoked")
	}
}

// What nobody can answer at is refused at once.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"nats://127.0.0.1:4222": true, "tls://host:4222": true, "nats://a:4222,nats://b:4222": true, "wss://host/fleet": true,
		"http://host:4222": false, "nats://": false, "nats://:4222": false, "nats://a:4222,b:4222": true, "nats://a:4222,": false, "tls://host:port": false,
	} {
		if _, err := Read(text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A ticket is used in the role that it was made for; a plain address in any.
func TestRoles(t *testing.T) {
	t.Parallel()
	if err := (Ticket{Name: "anna", Role: User}).For(Worker); err == nil || !strings.Contains(err.Error(), "is a user's") {
		t.Errorf("a user's ticket for a worker: %v", err)
	}
	for _, good := range []Ticket{{Role: Worker}, {}} {
		if err := good.For(Worker); err != nil {
			t.Error(err)
		}
	}
}

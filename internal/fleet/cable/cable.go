// Package cable is a connection between the parts of a fleet that tests can cut.
package cable

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Cable leads to an address. It is whole at first.
type Cable struct {
	to      string
	mu      sync.Mutex
	on      []net.Conn
	refuses bool
	silent  bool
	changed *sync.Cond // silent, or the end
	ended   bool
}

// Lay has a test's connections to an address, host:port, go through a cable, whose own address it returns.
func Lay(t *testing.T, to string) (c *Cable, address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = &Cable{to: to}
	c.changed = sync.NewCond(&c.mu)
	t.Cleanup(func() { _ = l.Close(); c.end() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.join(near)
		}
	}()
	return c, l.Addr().String()
}

func (c *Cable) join(near net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	far, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(context.Background(), "tcp", c.to)
	if err != nil || c.refuses || c.ended {
		_ = near.Close()
		if far != nil {
			_ = far.Close()
		}
		return
	}
	c.on = append(c.on, near, far)
	go c.carry(near, far)
	go c.carry(far, near)
}

// carry brings bytes over as long as somebody sends any; those that are on their way in a silence come after it.
func (c *Cable) carry(from, to net.Conn) {
	defer to.Close()
	_, _ = io.Copy(to, heard{c, from})
}

// heard is what comes through a cable.
type heard struct {
	c    *Cable
	from net.Conn
}

func (h heard) Read(b []byte) (int, error) {
	n, err := h.from.Read(b)
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	for h.c.silent && !h.c.ended {
		h.c.changed.Wait()
	}
	return n, err
}

// Cut breaks every connection, and refuses others until it is mended.
func (c *Cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses = true
	c.breakAll()
}

// Silence lets nothing through until it is mended, and nobody is told: as a network that loses every packet.
func (c *Cable) Silence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

// Mend makes the cable whole again.
func (c *Cable) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses, c.silent = false, false
	c.changed.Broadcast()
}

func (c *Cable) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.breakAll()
	c.changed.Broadcast()
}

func (c *Cable) breakAll() {
	for _, x := range c.on {
		_ = x.Close()
	}
	c.on = nil
}

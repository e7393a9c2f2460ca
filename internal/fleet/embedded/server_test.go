package embedded

import (
	"net"
	"strings"
	"testing"
	"time"
)

// An address that cannot be listened on is told at once, and why.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, at := range []string{l.Addr().String(), "127.0.0.1:5000000", "256.0.0.1:0"} {
		began := time.Now()
		s, err := Start(Options{Listen: at, Dir: t.TempDir()})
		if err == nil {
			s.Stop()
			t.Errorf("%s: it listens", at)
		} else if time.Since(began) > 10*time.Second || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v after %s", at, err, time.Since(began))
		}
	}
}

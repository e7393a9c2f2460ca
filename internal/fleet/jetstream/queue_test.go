package jetstream

import (
	"testing"

	"assay/internal/fleet"
	"assay/internal/fleet/queuetest"
)

// started is a server of the test's own.
func started(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(ServerOptions{Listen: "127.0.0.1:0", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func opened(t *testing.T, s *Server, l fleet.Limits) *Queue {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	q, err := Create(t.Context(), nc, Config{Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t *testing.T, l fleet.Limits) fleet.Queue {
		return opened(t, started(t, t.TempDir()), l)
	})
}

package jetstream_test

import (
	"testing"

	"assay/internal/fleet"
	"assay/internal/fleet/embedded"
	"assay/internal/fleet/jetstream"
	"assay/internal/fleet/queuetest"
)

// started is a server of the test's own.
func started(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.Options{Listen: "127.0.0.1:0", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func opened(t *testing.T, s *embedded.Server, l fleet.Limits) *jetstream.Queue {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	q, err := jetstream.Create(t.Context(), nc, jetstream.Config{Limits: l})
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

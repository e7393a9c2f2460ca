package sweep

import (
	"context"
	"testing"

	"assay/internal/detect"
	"assay/internal/fleet"
	"assay/internal/platform"
)

// Whoever only converts models for a platform does not have it: auto must not choose it.
func TestReportOfWhoOnlyConverts(t *testing.T) {
	t.Parallel()
	m := Machine{Office: has{targets: []string{"cpu", "mps/coreml", "openvino"}}}
	r, err := m.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[platform.Name]detect.Status{platform.CPU: detect.Present, platform.OpenVINO: detect.Present, platform.MPS: detect.Absent, platform.CUDA: detect.Absent} {
		if p, _ := r.Get(name); p.Status != want {
			t.Errorf("%s is %s, want %s", name, p.Status, want)
		}
	}
}

// has is a fleet of one worker with these targets.
type has struct {
	fleet.Office
	targets []string
}

func (h has) Status(context.Context) (s fleet.Status, err error) {
	w := fleet.WorkerStatus{Alive: true}
	for _, name := range h.targets {
		t, err := platform.ParseTarget(name)
		if err != nil {
			return s, err
		}
		w.Offers = append(w.Offers, fleet.Offer{Target: t})
	}
	s.Workers = append(s.Workers, w)
	return s, nil
}

package session

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/platform"
	"assay/internal/runner"
)

// capturedOptions are those of a session on a captured machine.
func capturedOptions(t *testing.T, name string) Options {
	t.Helper()
	m, answers, err := detect.Open(filepath.Join(machinesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return Options{Machine: m, Answers: answers}
}

// TestAutoOnCapturedMachines: what is best is what the machine has, whatever
// runs this test; nothing is started to find it out.
func TestAutoOnCapturedMachines(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"h200": "cuda", "mi300x": "rocm", "apple-m3": "mps", "epyc-vm": "cpu", "container-hiding-devices": "cpu",
	} {
		o := capturedOptions(t, name)
		o.Environments = faked{}
		s := New(o)
		report, err := s.Report(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		best, ok := detect.Best(report, "encoder-only")
		if !ok || best.Target.String() != want {
			t.Errorf("auto on %s is %s (%s), want %s", name, best.Target, best.Reason, want)
		}
		want, err := detect.Captured(filepath.Join(machinesDir, name))
		if err != nil || s.Host().ID != want.Host.ID || report.Host.ID != want.Host.ID {
			t.Errorf("%s: the hosts are %s and %s, want %s, %v", name, s.Host().ID, report.Host.ID, want.Host.ID, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestACellOnACapturedGPU: a plan for CUDA goes to the GPU of the captured
// machine, and a GPU that it has not is unavailable.
func TestACellOnACapturedGPU(t *testing.T) {
	t.Parallel()
	r := &scripted{}
	s := scriptedSession(t, r, capturedOptions(t, "h200"))
	defer s.Close()
	plan, err := cell.Plan{Cells: []cell.Cell{{Type: "bert", Target: "cuda"}, {Type: "vit", Target: "cuda:7"}}, NoFallback: true}.Normal()
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{}
	if err := s.Carry(t.Context(), plan, w); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]cell.Verdict{}
	for _, res := range w.finished {
		verdicts[res.Cell.Type] = res.Verdict
	}
	if verdicts["bert"] != cell.Works || verdicts["vit"] != cell.Unavailable {
		t.Errorf("verdicts %v", verdicts)
	}
	ran := slices.DeleteFunc(r.jobs, func(j runner.Job) bool { return j.Kind != runner.CheckJob })
	if len(ran) != 1 || ran[0].Cell.Platform != platform.CUDA {
		t.Errorf("%d jobs ran: %+v", len(ran), ran)
	}
	if d, ok := s.Detected(); !ok || d.Host.ID != s.Host().ID {
		t.Errorf("detected %v on %s", ok, d.Host.ID)
	}
}

// TestFreeBytesAreTheMachinesOwn: what is free is read where the machine is.
func TestFreeBytesAreTheMachinesOwn(t *testing.T) {
	t.Parallel()
	o := capturedOptions(t, "h200")
	m := machine{report: detect.Judge(detect.Look(o.Machine), o.Answers), root: o.Machine.Root}
	if got := m.FreeBytes() >> 30; got != 124 {
		t.Errorf("%d GiB may be used of 125 where nothing tells what is free", got)
	}
	m.root = fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 131072000 kB\nMemAvailable:   8388608 kB\n")}}
	if got := m.FreeBytes() >> 30; got != 7 {
		t.Errorf("%d GiB may be used of 8 that are free", got)
	}
}

package session

import (
	"path/filepath"
	"testing"
	"time"

	"assay/internal/browser"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/journal"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/progress"

	"github.com/google/go-cmp/cmp"
)

// tablet is a machine of which a browser alone spoke: it has a GPU and no WebNN.
func tablet(t *testing.T) detect.Report {
	t.Helper()
	r, err := detect.JudgeGuest(detect.Sighting{OS: "android", Instance: "Tab", CPU: detect.CPU{Usable: 8}}, detect.BrowserAnswer{
		Kind: "chrome", Version: "141", WebGPU: detect.WebGPU{Vendor: "arm", Architecture: "valhall"}, WebNN: detect.WebNN{Absent: "it waits behind a flag"},
	}, "1.30.0")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGuestPresence: what a guest has is what its browser said, and nothing of
// this machine's.
func TestGuestPresence(t *testing.T) {
	t.Parallel()
	v := visited{web: &web{browsers: []browser.Options{{Kind: "chrome"}}, report: tablet(t), host: &pages.Host{}}}
	for target, reason := range map[string]string{
		"webgpu":           "",
		"webgpu@chrome":    "",
		"cpu/wasm@chrome":  "",
		"webnn@chrome":     "chrome: it waits behind a flag",
		"webgpu@firefox":   "the browser firefox is not here: there are chrome",
		"cpu":              "cpu does not run in a browser",
		"cuda":             "cuda does not run in a browser",
		"openvino":         "openvino does not run in a browser",
		"webnn:npu@chrome": "chrome: it waits behind a flag",
	} {
		at, err := platform.ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		here := v.Presence(at)
		if here.Present != (reason == "") || here.Reason != reason || here.Software || here.Threads != 0 {
			t.Errorf("%s: %+v", target, here)
		}
	}
}

// TestGuestResults: a guest's result keeps what its browser told and loses what
// was seen of the machine that exported the model.
func TestGuestResults(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	j, err := journal.Create(t.TempDir(), journal.Header{Schema: journal.Schema, Run: cell.Run{ID: journal.NewRunID(now), StartedAt: now}, Host: tablet(t).Host})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	load, share, bytes := 3.5, 0.1, int64(1)
	browser := &cell.Browser{Name: "chrome", Threads: 4}
	versions := map[string]string{"torch": "2"}
	w := &watching{}
	rec := &recorder{journal: j, on: w}
	err = ofGuest{rec}.Hear(progress.Finished(cell.Result{
		Cell: cell.Cell{Type: "bert", Platform: platform.WebGPU}.Normal(), Verdict: cell.Works, Evidence: cell.Measured,
		Memory: &cell.Memory{HostPeakBytes: &bytes}, HarnessCPUFraction: &share,
		Context: cell.Context{
			Versions: versions, Browser: browser, InputsInside: "all", EnvironmentID: "e",
			LoadBefore: &load, Governor: "powersave", ClockMHz: []float64{1}, TemperatureC: []float64{2}, Affinity: 2, Threads: 2, PowerSource: "mains",
			Variables: map[string]string{"CUDA_VISIBLE_DEVICES": ""},
		},
	}))
	if err != nil || len(w.finished) != 1 || len(rec.results) != 1 {
		t.Fatalf("%d results, %v", len(rec.results), err)
	}
	got := rec.results[0]
	want := cell.Context{Versions: versions, Browser: browser, InputsInside: "all", EnvironmentID: "e", Threads: 4}
	if diff := cmp.Diff(want, got.Context); diff != "" || got.Memory != nil || got.HarnessCPUFraction != nil {
		t.Errorf("%s %+v", diff, got)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(j.Path()), "*")); len(files) == 0 {
		t.Error("nothing was journalled")
	}
}

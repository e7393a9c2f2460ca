package detect

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// with returns what detection makes of a captured machine with one answer or
// variable changed.
func with(t *testing.T, machine string, env map[string]string, change Answers) Report {
	t.Helper()
	m, answers, err := Open(filepath.Join(machinesDir, machine))
	if err != nil {
		t.Fatal(err)
	}
	base := m.Env
	m.Env = func(name string) (string, bool) {
		if v, ok := env[name]; ok {
			return v, true
		}
		return base(name)
	}
	for probe, a := range change {
		answers[probe] = a
	}
	return Judge(Look(m), answers)
}

func TestJudgeCUDA(t *testing.T) {
	t.Parallel()
	torch := func(s string) Answers { return Answers{"torch": {Data: json.RawMessage(s)}} }
	none := `{"version":"2.15.0","cuda":"13.2","devices":[]}`
	tests := map[string]struct {
		env    map[string]string
		change Answers
		status Status
		says   string
	}{
		"works":          {nil, nil, Present, "CUDA 13.0, cuDNN 9.19.0, 1 device"},
		"hidden":         {map[string]string{"CUDA_VISIBLE_DEVICES": ""}, torch(none), Absent, "unset CUDA_VISIBLE_DEVICES"},
		"hidden by -1":   {map[string]string{"CUDA_VISIBLE_DEVICES": "-1"}, torch(none), Absent, "hides all devices"},
		"by uuid":        {map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-00000000-0000-0000-0000-000000000001"}, nil, Present, "GPU-00000000"},
		"cpu build":      {nil, torch(`{"version":"2.15.0+cpu","cuda":"","devices":[]}`), Absent, "was built without CUDA"},
		"rocm build":     {nil, torch(`{"version":"2.15.0","hip":"6.4","devices":[{"index":0,"name":"AMD"}]}`), Absent, "is a ROCm build"},
		"old driver":     {nil, torch(none), Absent, "update the driver"},
		"torch hangs":    {nil, Answers{"torch": {Error: "no answer within 20s"}}, Unknown, "no answer within 20s"},
		"torch missing":  {nil, Answers{"torch": {Absent: "No module named 'torch'"}}, Absent, "assay setup"},
		"torch nonsense": {nil, torch(`{"version":7}`), Unknown, "gives no version"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := with(t, "h200", tt.env, tt.change)
			p, _ := r.Get(platform.CUDA)
			if p.Status != tt.status {
				t.Errorf("status %s, want %s", p.Status, tt.status)
			}
			if all := describe(t, p); !strings.Contains(all, tt.says) {
				t.Errorf("nothing says %q in %s", tt.says, all)
			}
			if p.Status != Present && name != "hidden" && name != "hidden by -1" && len(p.Devices) != 1 {
				t.Errorf("%d devices, want the one that was seen", len(p.Devices))
			}
			checkInvariants(t, r)
		})
	}
}

func TestVariablesLeaveTheHost(t *testing.T) {
	t.Parallel()
	plain := with(t, "h200", nil, nil)
	hidden := with(t, "h200", map[string]string{"CUDA_VISIBLE_DEVICES": ""}, nil)
	if plain.Host.ID != hidden.Host.ID {
		t.Error("a variable that hides devices makes another host")
	}
	if other := with(t, "mi300x", nil, nil); other.Host.ID == plain.Host.ID {
		t.Error("two machines have one id")
	}
}

func TestJudgeROCm(t *testing.T) {
	t.Parallel()
	failed := `{"version":"2.10.0","hip":"6.4","devices":[{"index":0,"name":"AMD","half":false,"half_error":"hipErrorNoBinaryForGpu"}]}`
	p, _ := with(t, "mi300x", nil, Answers{"torch": {Data: json.RawMessage(failed)}}).Get(platform.ROCm)
	if got := p.Devices[0].Settings.DType; got != platform.FP32 {
		t.Errorf("dtype %s after half precision failed, want fp32", got)
	}
	if !strings.Contains(describe(t, p), "hipErrorNoBinaryForGpu") {
		t.Error("the evidence does not say why half precision failed")
	}
	both := map[string]string{"ROCR_VISIBLE_DEVICES": "1,0", "HIP_VISIBLE_DEVICES": "0"}
	seen := with(t, "mi300x", both, Answers{"torch": {Absent: "no torch"}})
	p, _ = seen.Get(platform.ROCm)
	if len(p.Devices) != 1 || p.Devices[0].ID != "0" {
		t.Errorf("both variables leave %v, want one device", p.Devices)
	}
}

func TestEmulatorIsSoftware(t *testing.T) {
	t.Parallel()
	ort := `{"version":"1.31.1","providers":["CPUExecutionProvider"],"qnn":{"version":"2.7.0","library":true,"emulator":true,"devices":["cpu"]}}`
	r := with(t, "epyc-vm", nil, Answers{"onnxruntime": {Data: json.RawMessage(ort)}})
	p, _ := r.Get(platform.QNN)
	if len(p.Devices) == 0 {
		t.Fatal("the emulator lists no devices")
	}
	for _, d := range p.Devices {
		if !d.Software || !strings.Contains(d.Name, "emulated") {
			t.Errorf("%s is not marked as software", d.Name)
		}
	}
	if c, ok := Best(r, "vision"); !ok || c.Name != "cpu" {
		t.Errorf("the best platform is %q, want cpu", c.Name)
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	child := func(ctx context.Context, probe string) ([]byte, error) {
		switch probe {
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		case "broken":
			return nil, errors.New("the probe ended with signal: segmentation fault")
		case "garbage":
			return []byte("hello"), nil
		case "absent":
			return []byte(`{"absent":"no such library"}`), nil
		}
		return []byte(`{"version":"1"}`), nil
	}
	var questions []Question
	for _, name := range []string{"slow", "broken", "garbage", "absent", "good"} {
		limit := 5 * time.Second
		if name == "slow" {
			limit = 10 * time.Millisecond
		}
		questions = append(questions, Question{name, limit})
	}
	got := Confirm(t.Context(), child, questions)
	wants := map[string]string{"slow": "no answer within 10ms", "broken": "segmentation fault", "garbage": "not a JSON object"}
	for name, says := range wants {
		if !strings.Contains(got[name].Error, says) {
			t.Errorf("%s: %q, want it to say %q", name, got[name].Error, says)
		}
	}
	if got["absent"].Absent != "no such library" || got["good"].Data == nil {
		t.Errorf("got %+v", got)
	}
}

func TestBest(t *testing.T) {
	t.Parallel()
	tests := []struct{ machine, family, want, says string }{
		{"h200", "decoder-only", "cuda", "NVIDIA H200"},
		{"h200", "", "cuda", "other models"},
		{"epyc-vm", "vision", "cpu", "cuda is absent"},
		{"empty", "vision", "", "no platform is present"},
	}
	for _, tt := range tests {
		c, ok := Best(detectCaptured(t, filepath.Join(machinesDir, tt.machine)), tt.family)
		if c.Name != tt.want || ok != (tt.want != "") || !strings.Contains(c.Reason, tt.says) {
			t.Errorf("%s, %s: %q because %q, want %q because %q", tt.machine, tt.family, c.Name, c.Reason, tt.want, tt.says)
		}
	}
}

// TestSeen tells what is not there from what is there and runs no cell.
func TestSeen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		machine  string
		platform platform.Name
		want     bool
	}{
		{"apple-m3", platform.MPS, true}, {"epyc-vm", platform.MPS, false},
		{"mi300x", platform.ROCm, true}, {"epyc-vm", platform.ROCm, false}, {"empty", platform.ROCm, false},
		{"intel-laptop", platform.OpenVINO, true}, {"epyc-vm-openvino-qnn", platform.OpenVINO, true},
		{"epyc-vm", platform.OpenVINO, false}, {"empty", platform.OpenVINO, false},
		{"snapdragon-x", platform.QNN, true}, {"epyc-vm-openvino-qnn", platform.QNN, true}, {"epyc-vm", platform.QNN, false},
		{"container-hiding-devices", platform.CUDA, true}, {"h200", platform.CUDA, true},
		{"intel-laptop", platform.WebGPU, true}, {"h200", platform.WebGPU, false},
	}
	for _, tt := range tests {
		p, _ := with(t, tt.machine, nil, nil).Get(tt.platform)
		if p.Seen != tt.want {
			t.Errorf("%s, %s: seen is %t", tt.machine, tt.platform, p.Seen)
		}
	}
	hidden := with(t, "h200", map[string]string{"CUDA_VISIBLE_DEVICES": ""}, Answers{"nvml": {Error: "none"}, "torch": {Error: "none"}})
	if p, _ := hidden.Get(platform.CUDA); !p.Seen || len(p.Devices) != 0 {
		t.Errorf("a hidden GPU: seen is %t with %d devices", p.Seen, len(p.Devices))
	}
	gpu := with(t, "intel-laptop", nil, Answers{"openvino": {Absent: "no openvino"}})
	if p, _ := gpu.Get(platform.OpenVINO); !p.Seen {
		t.Error("an Intel GPU without OpenVINO's package was not seen")
	}
}

func TestJudgeFirst(t *testing.T) {
	t.Parallel()
	for _, machine := range machines(t) {
		m, _, err := Open(filepath.Join(machinesDir, machine))
		if err != nil {
			t.Fatal(err)
		}
		r := JudgeFirst(Look(m))
		checkInvariants(t, r)
		if p, _ := r.Get(platform.CPU); p.Status != Unknown || p.Hint != firstHint {
			t.Errorf("%s: the cpu is %s, hint %q", machine, p.Status, p.Hint)
		}
		if all := describe(t, r.Platforms); strings.Contains(all, `run \"assay setup\"`) || strings.Contains(all, "no Python environment") {
			t.Errorf("%s: what was not asked is said to be not installed: %s", machine, all)
		}
		if p, _ := Judge(Look(m), nil).Get(platform.CPU); p.Hint != setupHint {
			t.Errorf("%s: without an environment the hint is %q", machine, p.Hint)
		}
	}
}

// TestJudgingChangesNothing: one sighting is judged several times, in parallel
// too; each judgement is what the first one was, and the sighting stays as it is.
func TestJudgingChangesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range machines(t) {
		m, answers, err := Open(filepath.Join(machinesDir, name))
		if err != nil {
			t.Fatal(err)
		}
		seen := Look(m)
		first := Judge(seen, answers)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				Judge(seen, nil)
				if diff := cmp.Diff(first, Judge(seen, answers)); diff != "" {
					t.Errorf("%s is judged otherwise: %s", name, diff)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff(Look(m).Platforms, seen.Platforms); diff != "" {
			t.Errorf("judging %s changed what was seen: %s", name, diff)
		}
	}
}

package detect

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/instructions"
	"assay/internal/platform"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const machinesDir = "testdata/machines"

// machines lists the captured machines.
func machines(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(machinesDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestMachines(t *testing.T) {
	t.Parallel()
	names := machines(t)
	if len(names) < 9 {
		t.Fatalf("%d captured machines, want at least 9", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(machinesDir, name)
			r := detectCaptured(t, dir)
			data, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "report.json"), append(data, '\n'))
			var text bytes.Buffer
			if err := Text(&text, r, TextOptions{UTF8: true, Evidence: true}); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "report.txt"), text.Bytes())
			checkInvariants(t, r)
		})
	}
}

func detectCaptured(t *testing.T, dir string) Report {
	t.Helper()
	r, err := Captured(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// checkInvariants holds for every report, whatever the machine.
func checkInvariants(t *testing.T, r Report) {
	t.Helper()
	if r.Schema != Schema || r.Host.ID == "" {
		t.Errorf("schema %d, host id %q", r.Schema, r.Host.ID)
	}
	for i, name := range platform.Names() {
		p := r.Platforms[i]
		info, _ := platform.Get(name)
		switch {
		case p.Platform != name:
			t.Errorf("platform %d is %s, want %s", i, p.Platform, name)
		case p.Devices == nil || p.Evidence == nil:
			t.Errorf("%s has null lists", name)
		case p.Status == Present && (p.Engine == nil || len(p.Devices) == 0 || !info.Runs):
			t.Errorf("%s is present without an engine, a device or a runner", name)
		case p.Status == Present && !p.Seen:
			t.Errorf("%s is present and was not seen", name)
		case p.Status == Absent && !p.Seen && p.Engine != nil:
			t.Errorf("%s has an engine and was not seen", name)
		case p.Status != Present && p.Hint == "":
			t.Errorf("%s is %s without a hint", name, p.Status)
		case p.Status != Present && len(p.Evidence) == 0:
			t.Errorf("%s is %s without evidence", name, p.Status)
		}
	}
}

func TestEveryMachineHasItsLine(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(machinesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range machines(t) {
		_, line, ok := strings.Cut(string(readme), "\n| "+name+" | ")
		if !ok || !strings.HasPrefix(line, "really captured") && !strings.HasPrefix(line, "made") {
			t.Errorf("README.md does not say where %s comes from", name)
		}
	}
}

// TestWhatMachinesHave states, apart from the golden files, what must be found.
func TestWhatMachinesHave(t *testing.T) {
	t.Parallel()
	tests := []struct {
		machine  string
		platform platform.Name
		status   Status
		devices  int
		says     string // somewhere in the platform's evidence, hint and devices
	}{
		{"h200", platform.CUDA, Present, 1, "sm_90"},
		{"h200", platform.CUDA, Present, 1, "driver 580.159.04"},
		{"h200", platform.CUDA, Present, 1, "CUDA up to 13.0"},
		{"h200", platform.CPU, Present, 1, "Intel(R) Xeon(R) Processor"},
		{"h200", platform.CPU, Present, 1, "amx_bf16"},
		{"h200", platform.CPU, Present, 1, "AMX makes bf16 worth trying"},
		{"xeon-vm-amx", platform.CPU, Present, 1, "AMX is off: this processor announces it and cannot execute it"},
		{"xeon-vm-amx", platform.CPU, Present, 1, "ends at leaf 0x1c"},
		{"xeon-vm-amx", platform.CPU, Present, 1, "AVX-512 BF16 makes bf16 worth trying"},
		{"xeon-vm-amx", platform.OpenVINO, Present, 1, "bf16"},
		{"mi300x", platform.ROCm, Present, 1, "gfx942"},
		{"mi300x", platform.ROCm, Present, 1, "HIP_VISIBLE_DEVICES=1 leaves 1 of 2 devices"},
		{"mi300x", platform.ROCm, Present, 1, "half precision was right"},
		{"mi300x", platform.CUDA, Absent, 0, "no NVIDIA GPU"},
		{"amd-laptop", platform.ROCm, Absent, 1, "is not a ROCm build"},
		{"apple-m3", platform.MPS, Present, 1, "67 % of the unified memory"},
		{"apple-m3", platform.MPS, Present, 1, "generation M3"},
		{"intel-laptop", platform.OpenVINO, Present, 3, "Intel(R) AI Boost"},
		{"intel-laptop", platform.OpenVINO, Present, 3, "2022.3 LTS"},
		{"snapdragon-x", platform.QNN, Absent, 1, "htp v73"},
		{"snapdragon-x-windows", platform.QNN, Present, 1, "Snapdragon X"},
		{"container-hiding-devices", platform.CUDA, Absent, 1, "there is no /dev/nvidia0"},
		{"container-hiding-devices", platform.CUDA, Absent, 1, "--gpus all"},
		{"container-hiding-devices", platform.CPU, Present, 1, "control group allows 2.5 CPUs"},
		{"empty", platform.CPU, Unknown, 1, "assay setup"},
		{"empty", platform.CUDA, Unknown, 0, "there is no /sys/bus/pci"},
		{"empty", platform.ROCm, Unknown, 0, "there is no /sys/bus/pci"},
		{"epyc-vm", platform.CPU, Present, 1, "AVX-512 BF16"},
	}
	for _, tt := range tests {
		t.Run(tt.machine+"/"+string(tt.platform), func(t *testing.T) {
			t.Parallel()
			p, _ := detectCaptured(t, filepath.Join(machinesDir, tt.machine)).Get(tt.platform)
			if p.Status != tt.status || len(p.Devices) != tt.devices {
				t.Errorf("status %s with %d devices, want %s with %d", p.Status, len(p.Devices), tt.status, tt.devices)
			}
			if all := describe(t, p); !strings.Contains(all, tt.says) {
				t.Errorf("nothing says %q in %s", tt.says, all)
			}
		})
	}
}

// TestNotExecuted: what does not execute is listed as such, is not a feature, and is
// the reason of no setting. Without the children's finding all is as announced.
func TestNotExecuted(t *testing.T) {
	t.Parallel()
	m, answers, err := Open(filepath.Join(machinesDir, "xeon-vm-amx"))
	if err != nil {
		t.Fatal(err)
	}
	seen := Look(m)
	for _, known := range []bool{true, false} {
		if !known {
			delete(answers, instructionsAnswer)
		}
		r := Judge(seen, answers)
		p, _ := r.Get(platform.CPU)
		off := []string(nil)
		if known {
			off = []string{"amx_tile", "amx_int8", "amx_bf16"}
		}
		if diff := cmp.Diff(off, r.CPU.NotExecuted); diff != "" {
			t.Errorf("not executed (-want +got):\n%s", diff)
		}
		for _, f := range []bool{r.CPU.Has("amx_bf16"), slices.Contains(p.Devices[0].Features, "amx_tile"), strings.Contains(p.Devices[0].Settings.Why, "AMX")} {
			if f == known {
				t.Errorf("known %v: features %v, settings %s", known, p.Devices[0].Features, p.Devices[0].Settings.Why)
			}
		}
	}
	if got := (Answers{}).WithInstructions(instructions.Finding{}); len(got) != 0 {
		t.Errorf("a finding of nothing adds %v", got)
	}
}

func describe(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAccelerators(t *testing.T) {
	t.Parallel()
	wants := map[string][]string{
		"amd-laptop":   {"AMD XDNA NPU (Phoenix, Hawk Point)"},
		"intel-laptop": {"Intel NPU (Meteor Lake)", "Intel Neural Compute Stick 2 (Myriad X)"},
		"snapdragon-x": {"Qualcomm Hexagon compute DSP", "Qualcomm Hexagon audio DSP"},
		"empty":        nil,
	}
	for machine, want := range wants {
		var got []string
		for _, a := range detectCaptured(t, filepath.Join(machinesDir, machine)).Accelerators {
			got = append(got, a.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", machine, diff)
		}
	}
}

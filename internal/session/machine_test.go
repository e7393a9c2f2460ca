package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/detect"
	"assay/internal/lab"
	"assay/internal/platform"
)

// TestMain gives the tests a folder for temporary files of their own: the lock
// that keeps timed runs apart lies there.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		panic(err)
	}
	m.Run()
}

const machinesDir = "../detect/testdata/machines"

func captured(t *testing.T, name string) machine {
	t.Helper()
	r, err := detect.Captured(filepath.Join(machinesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return machine{report: r}
}

// TestPresenceAgrees: on every captured machine a platform's default target is
// there exactly when detection says so, and absence has its reason.
func TestPresenceAgrees(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(machinesDir)
	if err != nil {
		t.Fatal(err)
	}
	present := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		m := captured(t, e.Name())
		for _, name := range platform.Names() {
			if name == platform.WebNN || name == platform.WebGPU {
				continue // there when a page can be opened, whatever was captured
			}
			here := m.Presence(platform.Target{Platform: name})
			p, _ := m.report.Get(name)
			if here.Present != (p.Status == detect.Present) {
				t.Errorf("%s: %s is %s, the lab is told %+v", e.Name(), name, p.Status, here)
			}
			if !here.Present && here.Reason == "" {
				t.Errorf("%s: %s is absent for no reason", e.Name(), name)
			}
			if here.Present {
				present++
			}
		}
		if here := m.Presence(platform.Target{Platform: platform.CPU, Engine: platform.Noop}); !here.Present {
			t.Errorf("%s: no-ops do not run here: %+v", e.Name(), here)
		}
	}
	if present == 0 {
		t.Error("no captured machine has anything")
	}
}

func TestPresence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		machine, target string
		want            lab.Presence // its reason is a part of what is said
	}{
		{"h200", "cuda", lab.Presence{Present: true, MemoryBytes: 140 << 30, Threads: 16}},
		{"h200", "cuda:0", lab.Presence{Present: true, MemoryBytes: 140 << 30, Threads: 16}},
		{"h200", "cuda:7", lab.Presence{Reason: "there is no device 7: the devices are 0"}},
		{"h200", "rocm", lab.Presence{Reason: "no AMD GPU was seen"}},
		{"h200", "cpu", lab.Presence{Present: true, MemoryBytes: 126 << 30, Threads: 16}},
		{"h200", "cpu/onnxruntime", lab.Presence{Reason: "onnxruntime is not installed"}},
		{"container-hiding-devices", "cuda", lab.Presence{Reason: "there is no /dev/nvidia0"}},
		{"apple-m3", "cuda", lab.Presence{Reason: "NVIDIA"}},
		{"empty", "cuda", lab.Presence{Reason: "assay setup"}},
		{"epyc-vm", "cpu/noop", lab.Presence{Present: true, Threads: 1}},
		{"epyc-vm", "cpu", lab.Presence{Present: true, MemoryBytes: 23 << 30, Threads: 2}},
		{"epyc-vm-openvino-qnn", "openvino:CPU", lab.Presence{Present: true, Threads: 2}},
		{"epyc-vm-openvino-qnn", "openvino:AUTO", lab.Presence{Present: true, Threads: 2}},
		{"epyc-vm-openvino-qnn", "openvino:NPU", lab.Presence{Reason: "there is no device NPU"}},
		{"h200", "openvino:AUTO", lab.Presence{Reason: "assay setup"}},
		{"epyc-vm", "webgpu@firefox", lab.Presence{Reason: "no browser was started"}},
	} {
		target, err := platform.ParseTarget(tc.target)
		if err != nil {
			t.Fatal(err)
		}
		got := captured(t, tc.machine).Presence(target)
		if got.Present != tc.want.Present || got.Threads != tc.want.Threads || got.Software || !strings.Contains(got.Reason, tc.want.Reason) {
			t.Errorf("%s on %s: %+v, want %+v", tc.target, tc.machine, got, tc.want)
		}
		if got.MemoryBytes>>30 > tc.want.MemoryBytes>>30 || got.MemoryBytes < tc.want.MemoryBytes*9/10 {
			t.Errorf("%s on %s has %d bytes, want some %d", tc.target, tc.machine, got.MemoryBytes, tc.want.MemoryBytes)
		}
	}
}

// TestFreeBytes: never more than a control group leaves, nor than there is.
func TestFreeBytes(t *testing.T) {
	t.Parallel()
	limited := machine{report: detect.Report{}}
	limited.report.Memory.Usable = 3 << 30
	if got := limited.FreeBytes(); got > 2<<30 || got <= 0 {
		t.Errorf("%d bytes free within a limit of 3 GiB", got)
	}
	small := machine{report: detect.Report{}}
	small.report.Memory.Usable = 100 << 20
	if got := small.FreeBytes(); got <= 50<<20 || got >= 100<<20 {
		t.Errorf("%d bytes free of 100 MiB: a small machine keeps a third back", got)
	}
	live := machine{report: detect.Judge(detect.Look(detect.Live()), nil), root: detect.Live().Root}
	if got := live.FreeBytes(); got < 0 || got > live.report.Memory.Total {
		t.Errorf("%d bytes free of %d", got, live.report.Memory.Total)
	}
}

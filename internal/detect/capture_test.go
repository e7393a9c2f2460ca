package detect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestCaptureRoundTrip captures each captured machine again: nothing that
// detection sees may be lost.
func TestCaptureRoundTrip(t *testing.T) {
	t.Parallel()
	for _, name := range machines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, answers, err := Open(filepath.Join(machinesDir, name))
			if err != nil {
				t.Fatal(err)
			}
			before := Judge(Look(m), answers)
			dir := filepath.Join(t.TempDir(), "again")
			if err := Capture(dir, m, answers); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, detectCaptured(t, dir)); diff != "" {
				t.Errorf("detection differs after a capture (-before +after):\n%s", diff)
			}
		})
	}
}

func TestCaptureThisMachine(t *testing.T) {
	t.Parallel()
	m := Live()
	before := Judge(Look(m), nil)
	dir := t.TempDir()
	if err := Capture(dir, m, nil); err != nil {
		t.Fatal(err)
	}
	after := detectCaptured(t, dir)
	named := []string{".Path", ".Evidence", ".Kernel"}
	ignoreNames := cmp.FilterPath(func(p cmp.Path) bool { return slices.Contains(named, p.Last().String()) }, cmp.Ignore())
	if diff := cmp.Diff(before, after, ignoreNames); diff != "" {
		t.Errorf("this machine differs from its capture (-live +captured):\n%s", diff)
	}
}

// secrets are planted into a machine and must not be in its capture.
var secrets = []string{
	"GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b", "9221d5d1", "17226157163851722615",
	"alice", "laptop-of-alice", "i-0abcdef1234567890", "4c4c4544", "SN12345678", "10.20.30.40", "02:42:ac:11:00:02",
	"8f1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcdef",
	"acme", "builder@",
}

func secretive(t *testing.T) (*Machine, Answers) {
	t.Helper()
	const container = "8f1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcdef"
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	m := &Machine{OS: "linux", Arch: "amd64", Root: fstest.MapFS{
		"proc/driver/nvidia/version":                       file("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.129.03  Release Build  (builder@node7.acme)  \n"),
		"proc/driver/nvidia/gpus/0000:62:00.0/information": file("Model: NVIDIA H100\nGPU UUID: GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b\nSerial Number: SN12345678\n"),
		"dev/nvidia0": file(""),
		"sys/bus/pci/devices/0000:62:00.0/vendor":                        file("0x10de\n"),
		"sys/bus/pci/devices/0000:62:00.0/device":                        file("0x2330\n"),
		"sys/bus/pci/devices/0000:62:00.0/class":                         file("0x030200\n"),
		"sys/bus/pci/devices/0000:62:00.0/driver":                        {Data: []byte("../../../bus/pci/drivers/nvidia"), Mode: os.ModeSymlink},
		"sys/class/kfd/kfd/topology/nodes/1/properties":                  file("simd_count 304\nsimd_per_cu 4\ngfx_target_version 90402\nunique_id 17226157163851722615\n"),
		"sys/class/dmi/id/sys_vendor":                                    file("Amazon EC2\n"),
		"sys/class/dmi/id/product_name":                                  file("p5.48xlarge\n"),
		"sys/class/dmi/id/board_asset_tag":                               file("i-0abcdef1234567890\n"),
		"sys/class/dmi/id/product_uuid":                                  file("4c4c4544-0000-1111-2222-333344445555\n"),
		"sys/class/dmi/id/chassis_asset_tag":                             file("SN12345678\n"),
		"proc/self/status":                                               file("Name:\talice\nCpus_allowed_list:\t0\n"),
		"proc/self/cgroup":                                               file("0::/acme-jobs.slice/docker/" + container + "\n"),
		"sys/fs/cgroup/cgroup.controllers":                               file("cpu memory"),
		"sys/fs/cgroup/acme-jobs.slice/docker/" + container + "/cpu.max": file("150000 100000\n"),
		"sys/fs/cgroup/acme-jobs.slice/memory.max":                       file("1073741824\n"),
		"proc/sys/kernel/osrelease":                                      file("6.8.0-60-acme-gpu\n"),
		"proc/cpuinfo":                                                   file("processor : 0\nmodel name : Test CPU of laptop-of-alice at 10.20.30.40 02:42:ac:11:00:02\n"),
	}}
	m.Env = lookup(map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b", "USER": "alice"})
	m.Find = lookup(map[string]string{"chromium": "/home/alice/bin/chromium"})
	answers := Answers{"nvml": parseAnswer([]byte(`{"driver":"535.129.03","cuda":"12.2","devices":[{"name":"NVIDIA H100","uuid":"GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b"}]}`)),
		"torch": {Error: "the probe ended: /home/alice/venv/lib/libcuda.so on laptop-of-alice"}}
	return m, answers
}

func TestCaptureScrubs(t *testing.T) {
	t.Parallel()
	m, answers := secretive(t)
	before := Judge(Look(m), answers)
	if !strings.Contains(describe(t, before), "alice") {
		t.Fatal("the machine before capture tells no secrets: this test would prove nothing")
	}
	dir := t.TempDir()
	s := &scrubber{words: []string{"laptop-of-alice", "alice"}, home: "/home/alice", seen: map[string]string{}}
	if err := capture(dir, m, answers, s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{manifestFile, treeFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s still holds %q", name, secret)
			}
		}
	}
	after := detectCaptured(t, dir)
	for i, p := range after.Platforms {
		was := before.Platforms[i]
		if p.Status != was.Status || len(p.Devices) != len(was.Devices) || p.Hint != was.Hint {
			t.Errorf("%s was %s with %d devices and is %s with %d", p.Platform, was.Status, len(was.Devices), p.Status, len(p.Devices))
		}
	}
	if after.CPU.Quota == nil || *after.CPU.Quota != 1.5 || after.Memory.Limit == nil || *after.Memory.Limit != 1<<30 {
		t.Error("the control group's limits were lost with its name")
	}
	if after.Host.Instance != "EC2 p5.48xlarge" {
		t.Errorf("instance %q", after.Host.Instance)
	}
}

func TestCommonRelease(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"6.8.0-60-generic":                 "6.8.0-60-generic",
		"5.14.0-503.11.1.el9_5.x86_64":     "5.14.0-503.11.1.el9_5.x86_64",
		"6.6.87.2-microsoft-standard-WSL2": "6.6.87.2-microsoft-standard-WSL2",
		"6.1.0-18-cloud-amd64":             "6.1.0-18-cloud-amd64",
		"6.8.0-1021-aws":                   "6.8.0-1021-aws",
		"6.18.44-acme-v445-gpu":            "6.18.44",
		"6.12.3-arch1-1-of-alice":          "6.12.3-arch1-1",
		"6.9.0-rc3+":                       "6.9.0-rc3",
		"":                                 "",
	} {
		if got := commonRelease(in); got != want {
			t.Errorf("commonRelease(%q) = %q, want %q", in, got, want)
		}
	}
}

// Two captures of a machine are the same, whatever order maps come in.
func TestCaptureIsStable(t *testing.T) {
	t.Parallel()
	var first string
	for range 10 {
		m, answers := secretive(t)
		dir := t.TempDir()
		if err := capture(dir, m, answers, &scrubber{seen: map[string]string{}}); err != nil {
			t.Fatal(err)
		}
		tree, err := os.ReadFile(filepath.Join(dir, treeFile))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(tree)
		}
		if diff := cmp.Diff(first, string(tree)); diff != "" {
			t.Fatalf("a second capture differs (-first +second):\n%s", diff)
		}
	}
}

func TestCaptureRefusesFullFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m, answers := secretive(t)
	if err := Capture(dir, m, answers); err == nil || !strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("got %v, want a refusal that names the file", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	write := func(files map[string]string) string {
		dir := t.TempDir()
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	newer, err := json.Marshal(manifest{Schema: Schema + 1})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		files map[string]string
		says  string
	}{
		"nothing":  {nil, "is not a captured machine"},
		"garbage":  {map[string]string{manifestFile: "{"}, "is damaged"},
		"newer":    {map[string]string{manifestFile: string(newer)}, "schema 2"},
		"no tree":  {map[string]string{manifestFile: `{"schema":1}`}, "has no tree"},
		"bad path": {map[string]string{manifestFile: `{"schema":1}`, treeFile: "-- ../../etc/passwd --\nx\n"}, "not a valid path"},
	}
	for name, tt := range tests {
		if _, _, err := Open(write(tt.files)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error that says %q", name, err, tt.says)
		}
	}
}

package detect

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/internal/platform"
)

func tree(files map[string]string) *Machine {
	root := fstest.MapFS{}
	for name, content := range files {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	none := func(string) (string, bool) { return "", false }
	return &Machine{OS: "linux", Arch: "amd64", Root: root, Env: none, Find: none}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	tests := map[string][]int{
		"0-3,8": {0, 1, 2, 3, 8}, "0": {0}, "": nil, "x": nil, "3-1": nil, "-1": nil, "1,y,2": {1, 2}, "0-99999999999": nil,
	}
	for in, want := range tests {
		if diff := cmp.Diff(want, parseList(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	tests := map[string]int64{"1024K": 1 << 20, "32M": 32 << 20, "7": 7, "": 0, "K": 0, "-1K": 0, "9223372036854775807K": 0}
	for in, want := range tests {
		if got := parseSize(in); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func TestNVIDIADriver(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023":             "535.129.03",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)": "570.86.15",
		"": "", "NVRM version:": "",
	}
	for in, want := range tests {
		if got := nvidiaDriver(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestGfxName(t *testing.T) {
	t.Parallel()
	for in, want := range map[uint64]string{90402: "gfx942", 90010: "gfx90a", 110003: "gfx1103", 120001: "gfx1201", 110501: "gfx1151"} {
		if got := gfxName(in); got != want {
			t.Errorf("%d: %s, want %s", in, got, want)
		}
	}
}

func TestCgroups(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		cpus  float64
		bytes int64
	}{
		"version 2, the parent's limit is tighter": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/cgroup.controllers": "cpu memory",
			"sys/fs/cgroup/a/cpu.max": "100000 100000", "sys/fs/cgroup/a/b/cpu.max": "400000 100000",
			"sys/fs/cgroup/a/memory.max": "1073741824", "sys/fs/cgroup/a/b/memory.max": "max"}, 1, 1 << 30},
		"version 1, controllers together": {map[string]string{
			"proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/x\n0::/\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us":          "50000",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us":         "100000",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes":          "2147483648",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":            "-1",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":           "100000",
			"sys/fs/cgroup/unrelated/that/no/one/reads/cpu.max":     "1 1",
			"sys/fs/cgroup/unrelated/that/no/one/reads/memory.max2": "1"}, 0.5, 2 << 30},
		"no limits": {map[string]string{"proc/self/cgroup": "0::/\n"}, 0, 0},
	}
	for name, tt := range tests {
		m := tree(tt.files)
		var cpus float64
		var bytes int64
		if got := cgroupCPUs(m); got != nil {
			cpus = *got
		}
		if got := cgroupMemory(m); got != nil {
			bytes = *got
		}
		if cpus != tt.cpus || bytes != tt.bytes {
			t.Errorf("%s: %v CPUs and %d bytes, want %v and %d", name, cpus, bytes, tt.cpus, tt.bytes)
		}
	}
}

func TestInstance(t *testing.T) {
	t.Parallel()
	tests := []struct{ vendor, product, tag, want string }{
		{"Amazon EC2", "p5.48xlarge", "Amazon EC2", "EC2 p5.48xlarge"},
		{"Google", "Google Compute Engine", "", "GCE"},
		{"Microsoft Corporation", "Virtual Machine", azureTag, "Azure"},
		{"Microsoft Corporation", "Surface Laptop", "0123", ""},
		{"LENOVO", "21N1", "", ""},
	}
	for _, tt := range tests {
		got := lookInstance(tree(map[string]string{"sys/class/dmi/id/sys_vendor": tt.vendor,
			"sys/class/dmi/id/product_name": tt.product, "sys/class/dmi/id/chassis_asset_tag": tt.tag}))
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.vendor, tt.product, got, tt.want)
		}
	}
}

func TestOtherAccelerators(t *testing.T) {
	t.Parallel()
	tests := []struct{ vendor, device, class, kind, name string }{
		{"0x1da3", "0x1020", "0x120000", "gaudi", "Intel Gaudi 2"},
		{"0x19e5", "0xd802", "0x120000", "ascend", "Huawei Ascend 910B"},
		{"0x1d0f", "0x7264", "0x088000", "neuron", "AWS Inferentia 2"},
		{"0x1ae0", "0x0063", "0x120000", "tpu", "Google TPU v5e"},
		{"0x1ae0", "0xffff", "0x120000", "tpu", "Google TPU [1ae0:ffff]"},
		{"0x1022", "0x17f0", "0x118000", "npu", "AMD XDNA 2 NPU (Strix, Krackan)"},
		{"0x8086", "0x643e", "0x120000", "npu", "Intel NPU (Lunar Lake)"},
		{"0x8086", "0x09c4", "0x120000", "fpga", "Intel Programmable Acceleration Card with Arria 10 GX FPGA"},
		{"0x1d0f", "0xec20", "0x020000", "", ""},
	}
	for _, tt := range tests {
		dir := "sys/bus/pci/devices/0000:05:00.0/"
		got := lookAccelerators(tree(map[string]string{dir + "vendor": tt.vendor, dir + "device": tt.device, dir + "class": tt.class}))
		if tt.kind == "" {
			if len(got) != 0 {
				t.Errorf("%s:%s was taken for %v", tt.vendor, tt.device, got)
			}
			continue
		}
		if len(got) == 0 || got[0].Kind != tt.kind || got[0].Name != tt.name {
			t.Errorf("%s:%s is %v, want %s %s", tt.vendor, tt.device, got, tt.kind, tt.name)
		}
	}
}

func named2(names ...string) []visible {
	var devices []visible
	for _, n := range names {
		devices = append(devices, visible{Device{Name: n}, "GPU-" + n})
	}
	return devices
}

func TestVisible(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value string
		want  string
	}{
		{"0,1,2", "abc"}, {"2,0", "ca"}, {"", ""}, {" ", ""}, {"-1", ""}, {"0,-1,1", "a"}, {"0,9,1", "a"},
		{"GPU-b", "b"}, {"gpu-c,0", "ca"}, {"GPU-", ""}, {"nonsense", ""}, {"1 , 0", "ba"},
	}
	for _, tt := range tests {
		var got strings.Builder
		for _, d := range (hiding{"X", tt.value, true}).apply(named2("a", "b", "c")) {
			got.WriteString(d.Name)
		}
		if got.String() != tt.want {
			t.Errorf("%q leaves %q, want %q", tt.value, got.String(), tt.want)
		}
	}
}

func TestVisibleProperty(t *testing.T) {
	t.Parallel()
	all := named2("a", "b", "c", "d")
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[0-9,GPU\- abc]{0,12}`).Draw(t, "value")
		for _, d := range (hiding{"X", value, true}).apply(all) {
			if !slices.ContainsFunc(all, func(v visible) bool { return v.Name == d.Name }) {
				t.Fatalf("%q made a device up: %v", value, d)
			}
		}
		if got := (hiding{"X", value, false}).apply(all); len(got) != len(all) {
			t.Fatalf("a variable that is not set hides devices")
		}
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	gib := func(n int64) *int64 { n <<= 30; return &n }
	tests := []struct {
		capability []int
		memory     *int64
		dtype      platform.DType
		batch      int
	}{
		{[]int{9, 0}, gib(140), platform.BF16, 32}, {[]int{8, 6}, gib(24), platform.BF16, 16}, {[]int{7, 5}, gib(15), platform.FP16, 8},
		{[]int{6, 1}, gib(8), platform.FP32, 4}, {[]int{6, 0}, gib(16), platform.FP16, 8}, {[]int{5, 3}, gib(4), platform.FP16, 1},
		{[]int{5, 2}, nil, platform.FP32, 1}, {[]int{12, 0}, gib(32), platform.BF16, 16},
	}
	for _, tt := range tests {
		s := cudaSettings(tt.capability, tt.memory, CPU{Usable: 4})
		if s.DType != tt.dtype || s.Batch != tt.batch || s.Threads != 4 {
			t.Errorf("%v: %+v, want %s and batch %d", tt.capability, *s, tt.dtype, tt.batch)
		}
		if strings.Count(s.Why, "; ") != 2 {
			t.Errorf("%v: %q does not give three reasons", tt.capability, s.Why)
		}
	}
	if cudaSettings(nil, gib(8), CPU{}) != nil {
		t.Error("settings without a capability are a guess")
	}
	for id, want := range map[string]platform.DType{"sm8350": platform.INT8, "sm8650": platform.FP16} {
		row, _ := findSoC(id)
		if s := qnnSettings(row); s.DType != want {
			t.Errorf("%s gets %s", id, s.DType)
		}
	}
}

func TestSoCsAreDistinct(t *testing.T) {
	t.Parallel()
	table := socs()
	if row, known := findSoC(table.Default); !known || row.ID != table.Default || !row.Emulated {
		t.Errorf("the default %q is not a system that the emulator runs", table.Default)
	}
	ids, models := map[string]bool{}, map[int]bool{}
	for _, row := range table.SoCs {
		if row.ID == "" || row.Title == "" || row.Model == 0 || row.HTP == 0 || ids[row.ID] || models[row.Model] {
			t.Errorf("%+v lacks something, or is there twice", row)
		}
		ids[row.ID], models[row.Model] = true, true
		for _, name := range row.Names {
			if found, _ := findSoC("Qualcomm " + strings.ToUpper(name)); found.ID != row.ID {
				t.Errorf("%s is taken for %s, not for %s", name, found.ID, row.ID)
			}
		}
	}
}

func TestScrubKeepsWhatIsNoSecret(t *testing.T) {
	t.Parallel()
	s := &scrubber{seen: map[string]string{}, words: []string{"root", "ab"}}
	for _, text := range []string{
		"535.129.03", "96.00.99.00.01", "0000:62:00.0", "Intel(R) Core(TM) Ultra 7 155H", azureTag, "9223372036854771712",
		"/usr/bin/chromium", "2.15.0+cu132", "root ab",
	} {
		if got := s.text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add("processor\t: 0\nphysical id : 0\ncore id : 1\nflags : avx2\n\nprocessor : 1\n")
	f.Add("simd_count 304\ngfx_target_version 90402\nlocation_id 1280\n")
	f.Add("0-3,8")
	f.Add("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu")
	f.Add(`{"absent":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		info := parseCPUInfo(text)
		if distinct(info.core, info.cpus) > len(info.cpus) {
			t.Error("more cores than CPUs")
		}
		if node, ok := parseKFD(text); ok && (node.arch == "" || node.units < 0) {
			t.Errorf("a node without an architecture: %+v", node)
		}
		for _, n := range parseList(text) {
			if n < 0 || n >= maxCPUs {
				t.Errorf("CPU %d", n)
			}
		}
		if parseSize(text) < 0 {
			t.Error("a negative size")
		}
		nvidiaDriver(text)
		a := parseAnswer([]byte(text))
		if a.Data == nil && a.Absent == "" && a.Error == "" {
			t.Error("an answer that says nothing")
		}
		s := &scrubber{seen: map[string]string{}}
		if once := s.text(text); s.text(once) != once && !strings.Contains(text, ":") && !strings.Contains(text, "erial") {
			t.Errorf("scrubbing twice differs: %q, %q", once, s.text(once))
		}
	})
}

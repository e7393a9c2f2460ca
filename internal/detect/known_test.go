package detect

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/platform"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		target string
		want   []string // parts of the sentence; none when the target is known
	}{
		{target: "cpu"}, {target: "cpu:cpu"}, {target: "cuda:7"}, {target: "rocm:1"}, {target: "mps/coreml"},
		{target: "openvino:GPU.1"}, {target: "openvino:AUTO"}, {target: "qnn"}, {target: "qnn:sm8350"},
		{target: "webnn:npu@edge"}, {target: "webgpu@safari"}, {target: "cpu/wasm@packed"},
		{"webgpu@netscape", []string{`unknown browser "netscape": the browsers are packed, chromium, chrome, edge, firefox, safari`}},
		{"webgpu@chrom", []string{`"chrom", did you mean chrome?`, "packed, chromium"}},
		{"openvino:XPU", []string{`unknown openvino device "XPU"`, "CPU, GPU, NPU, AUTO"}},
		{"openvino:npu", []string{"did you mean NPU?"}},
		{"openvino:CPU.1", []string{"GPU.1"}},
		{"qnn:sm9999", []string{`unknown qnn device "sm9999"`, "sm8650"}},
		{"qnn:SM8650", []string{"did you mean sm8650?"}},
		{"cuda:gpu", []string{"0, 1, and so on"}},
		{"webnn:tpu", []string{"cpu, gpu, npu"}},
		{"mps:1", []string{"the mps devices are mps"}},
	} {
		where, err := platform.ParseTarget(tc.target)
		if err != nil {
			t.Fatal(err)
		}
		err = Known(where)
		if (err == nil) != (len(tc.want) == 0) {
			t.Errorf("Known(%s): %v", tc.target, err)
		}
		for _, part := range tc.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("Known(%s): %q lacks %q", tc.target, err, part)
			}
		}
	}
}

// TestKnownPlatforms: a platform that nobody knows is an error, and no crash.
func TestKnownPlatforms(t *testing.T) {
	t.Parallel()
	if err := Known(platform.Target{Platform: "abacus"}); err == nil {
		t.Error("an abacus is known")
	}
}

func TestKnownBrowsers(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "", "none": "", "packed": "", "packed, firefox": "", "chrome,,edge": "",
		"packed,chrom": `ASSAY_BROWSERS: unknown browser "chrom", did you mean chrome?`,
		"Firefox":      "did you mean firefox?",
		"netscape":     "safari, or none",
	} {
		err := KnownBrowsers(value)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("KnownBrowsers(%q): %v, want %q", value, err, want)
		}
	}
}

func TestMayStart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value string
		want  []string
	}{{"packed, firefox", []string{"packed", "firefox"}}, {"none", nil}, {"edge", []string{"edge"}}} {
		m := &Machine{Env: func(string) (string, bool) { return tc.value, true }}
		for _, name := range BrowserNames() {
			if MayStart(m, name) != slices.Contains(tc.want, name) {
				t.Errorf("with %q %s may start: %t", tc.value, name, !slices.Contains(tc.want, name))
			}
		}
	}
}

func TestEveryPlatformsDevicesAreNamed(t *testing.T) {
	t.Parallel()
	for _, p := range platform.All() {
		if _, named := devicesOf[p.Name]; !named {
			t.Errorf("%s has no row in devicesOf", p.Name)
			continue
		}
		if err := Known(platform.Target{Platform: p.Name}.Normal()); err != nil {
			t.Errorf("%s does not know its own device: %v", p.Name, err)
		}
	}
	for _, d := range emulated() {
		if err := Known(platform.Target{Platform: platform.QNN, Device: d.ID}); err != nil {
			t.Error(err)
		}
	}
}

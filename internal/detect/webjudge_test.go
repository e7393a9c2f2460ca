package detect

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/platform"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// Answers as real browsers gave them, shortened: the packed Chromium 153 and
// Firefox ESR 153 on a machine without a GPU, Debian's Chromium 156 there; and
// one as Chrome gives it on a machine with a GPU, by its documentation.
var (
	swiftshader = WebGPU{Vendor: "google", Architecture: "swiftshader", Fallback: yes(), Features: []string{"subgroups", "timestamp-query"},
		Limits: map[string]int64{"maxStorageBufferBindingSize": 1 << 30, "maxComputeInvocationsPerWorkgroup": 256}}
	unnamed    = WebGPU{Fallback: yes(), Features: []string{"shader-f16", "timestamp-query"}}
	nvidia     = WebGPU{Vendor: "nvidia", Architecture: "ada-lovelace", Fallback: no(), Features: []string{"shader-f16", "subgroups"}}
	everywhere = WebNN{Devices: []WebNNDevice{
		{Type: "cpu", Computes: true, Matmul: []string{"float32", "float16"}, Operations: []string{"relu"}},
		{Type: "gpu", Computes: true, Matmul: []string{"float32", "float16"}}, {Type: "npu", Computes: true, Matmul: []string{"float32", "float16"}}}}
	noBackEnd = WebNN{Devices: []WebNNDevice{{Type: "cpu", Error: "WebNN is not supported on this platform."}}}
	noWebNN   = WebNN{Absent: "the browser has no WebNN here"}
	noGPU     = WebGPU{Absent: "the browser has WebGPU but no adapter for it"}
)

func browserSays(t *testing.T, all ...BrowserAnswer) Answers {
	t.Helper()
	a := Answers{WebProbe: {Data: json.RawMessage(`{"onnxruntime-web": "1.30.0"}`)}}
	for _, b := range all {
		b.Version = "153.0.1.2"
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		a[BrowserProbe+b.Kind] = Answer{Data: text}
	}
	return a
}

func TestJudgeWeb(t *testing.T) {
	t.Parallel()
	packed := BrowserAnswer{Kind: "packed", WebGPU: swiftshader, WebNN: everywhere}
	firefox := BrowserAnswer{Kind: "firefox", WebGPU: unnamed, WebNN: noWebNN}
	for name, c := range map[string]struct {
		platform platform.Name
		os       string
		answers  Answers
		status   Status
		devices  string // id@browser, "software" where it is
		says     string // in the evidence or the hint
	}{
		"webnn on linux is the processor": {platform.WebNN, "linux", browserSays(t, packed), Present, "cpu@packed", "XNNPACK"},
		"webnn without a back end":        {platform.WebNN, "linux", browserSays(t, BrowserAnswer{Kind: "packed", WebNN: noBackEnd}), Absent, "", "not supported on this platform"},
		"webnn with a gpu and an npu":     {platform.WebNN, "windows", browserSays(t, BrowserAnswer{Kind: "packed", WebGPU: nvidia, WebNN: everywhere}), Present, "cpu@packed gpu@packed npu@packed", ""},
		"webnn without a real gpu":        {platform.WebNN, "windows", browserSays(t, packed), Present, "cpu@packed npu@packed", "no real GPU adapter"},
		"webnn on an older mac":           {platform.WebNN, "darwin", browserSays(t, BrowserAnswer{Kind: "packed", WebGPU: nvidia, WebNN: everywhere}), Present, "cpu@packed gpu@packed", "Neural Engine"},
		"webgpu in software":              {platform.WebGPU, "linux", browserSays(t, packed, firefox), Present, "gpu@packed software gpu@firefox software", "256 invocations"},
		"webgpu for real":                 {platform.WebGPU, "linux", browserSays(t, BrowserAnswer{Kind: "packed", WebGPU: nvidia}), Present, "gpu@packed", "nvidia ada-lovelace"},
		"a real one goes first":           {platform.WebGPU, "linux", browserSays(t, packed, BrowserAnswer{Kind: "firefox", WebGPU: nvidia}), Present, "gpu@firefox gpu@packed software", ""},
		"webgpu was forced":               {platform.WebGPU, "linux", browserSays(t, BrowserAnswer{Kind: "packed", Forced: true, WebGPU: WebGPU{Vendor: "google"}}), Present, "gpu@packed software", "there is no other"},
		"webgpu by the name":              {platform.WebGPU, "linux", browserSays(t, BrowserAnswer{Kind: "packed", WebGPU: WebGPU{Description: "llvmpipe (LLVM 15.0.6)"}}), Present, "gpu@packed software", ""},
		"no adapter":                      {platform.WebGPU, "linux", browserSays(t, BrowserAnswer{Kind: "packed", WebGPU: noGPU}), Absent, "", "no adapter for it"},
		"the browser did not start":       {platform.WebGPU, "linux", Answers{BrowserProbe + "packed": {Error: "it was not ready within 1m0s"}}, Unknown, "", "not ready within"},
		"nobody asked":                    {platform.WebGPU, "linux", nil, Absent, "", "assay setup web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Sighting{OS: c.os, Arch: "amd64", Platforms: map[platform.Name]Seen{}}
			if c.answers[BrowserProbe+"firefox"].Data != nil {
				s.Browsers = []Browser{{Name: "firefox", Path: "/usr/bin/firefox"}}
			}
			p := webProbe{c.platform}.Judge(s, c.answers)
			var devices []string
			for _, d := range p.Devices {
				devices = append(devices, d.ID+"@"+d.Browser)
				if d.Software {
					devices = append(devices, "software")
				}
			}
			if p.Status != c.status || strings.Join(devices, " ") != c.devices || !strings.Contains(describe(t, p), c.says) {
				t.Errorf("%s with %v, want %s with %s, and %q in %s", p.Status, devices, c.status, c.devices, c.says, describe(t, p))
			}
		})
	}
}

// TestJudgeWebNeedsPages: a browser alone runs no cell.
func TestJudgeWebNeedsPages(t *testing.T) {
	t.Parallel()
	a := browserSays(t, BrowserAnswer{Kind: "packed", WebGPU: nvidia, WebNN: everywhere})
	a[WebProbe] = Answer{Absent: "the web environment is not installed"}
	for _, name := range []platform.Name{platform.WebNN, platform.WebGPU} {
		if p := (webProbe{name}).Judge(Sighting{OS: "linux", Platforms: map[platform.Name]Seen{}}, a); p.Status != Unknown || p.Hint != setupWebHint || p.Engine != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestBrowserVersions(t *testing.T) {
	t.Parallel()
	got := Answers{
		BrowserProbe + "firefox": {Data: []byte(`{"kind":"firefox","version":"151.0"}`)},
		BrowserProbe + "chrome":  {Error: "it did not answer"},
		BrowserProbe + "edge":    {Data: []byte(`{"kind":"edge"}`)},
		WebProbe:                 {Data: []byte(`{"version":"1.27.0"}`)},
	}.BrowserVersions()
	if len(got) != 1 || got["firefox"] != "151.0" {
		t.Errorf("the versions are %v", got)
	}
}

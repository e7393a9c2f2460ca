package weblab

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// agent texts as these browsers send them, shortened where nothing is read.
const (
	iPhone    = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1"
	iPhoneCr  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0.7390.96 Mobile/15E148 Safari/604.1"
	macSafari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15"
	pixel     = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36"
	foxLinux  = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
	foxPhone  = "Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0"
	edgeText  = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0"
)

func brandsOf(pairs ...string) []Brand {
	var out []Brand
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Brand{pairs[i], pairs[i+1]})
	}
	return out
}

// TestMachines: what is told becomes a host, and what is not told stays empty.
func TestMachines(t *testing.T) {
	t.Parallel()
	cores := 8
	for name, test := range map[string]struct {
		about         About
		kind, version string
		host          cell.Host
	}{
		"iPhone":            {About{UserAgent: iPhone, TouchPoints: 5}, "safari", "26.0", cell.Host{OS: "ios", Arch: "arm64", Instance: "iPhone"}},
		"Chrome on iPhone":  {About{UserAgent: iPhoneCr, TouchPoints: 5}, "chrome", "141.0.7390.96", cell.Host{OS: "ios", Arch: "arm64", Instance: "iPhone"}},
		"Mac":               {About{UserAgent: macSafari}, "safari", "26.0", cell.Host{OS: "darwin"}},
		"iPad":              {About{UserAgent: macSafari, TouchPoints: 5}, "safari", "26.0", cell.Host{OS: "ios"}},
		"Firefox on Linux":  {About{UserAgent: foxLinux}, "firefox", "144.0", cell.Host{OS: "linux", Arch: "amd64"}},
		"Firefox on phones": {About{UserAgent: foxPhone}, "firefox", "144.0", cell.Host{OS: "android"}},
		"Edge, silent":      {About{UserAgent: edgeText}, "edge", "141.0.0.0", cell.Host{OS: "windows", Arch: "amd64"}},
		"Pixel": {About{
			UserAgent: pixel, Platform: "Android", PlatformVersion: "16.0.0", Model: "Pixel 9", Cores: &cores,
			Brands: brandsOf("Not?A_Brand", "8", "Chromium", "141.0.7390.97", "Google Chrome", "141.0.7390.97"),
		}, "chrome", "141.0.7390.97", cell.Host{OS: "android", Kernel: "16.0.0", Instance: "Pixel 9", Cores: 8}},
		"Edge on ARM": {About{
			UserAgent: edgeText, Platform: "Windows", PlatformVersion: "15.0.0", Architecture: "arm", Bitness: "64",
			Brands: brandsOf("Microsoft Edge", "141.0.3537.71", "Chromium", "141.0.7390.66"),
		}, "edge", "141.0.3537.71", cell.Host{OS: "windows", Kernel: "15.0.0", Arch: "arm64"}},
		"nobody": {About{UserAgent: "curl/8"}, "browser", "unknown", cell.Host{OS: "unknown"}},
	} {
		if kind, version := test.about.browser(); kind != test.kind || version != test.version {
			t.Errorf("%s: the browser is %s %s", name, kind, version)
		}
		r, err := test.about.report(detect.BrowserAnswer{WebGPU: detect.WebGPU{Absent: "none"}, WebNN: detect.WebNN{Absent: "none"}}, "1.30.0")
		if err != nil {
			t.Fatal(err)
		}
		r.Host.ID = ""
		if diff := cmp.Diff(test.host, r.Host); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// phone is what an Android phone's Chrome says that it can do.
var phone = detect.BrowserAnswer{
	WebGPU: detect.WebGPU{Vendor: "qualcomm", Architecture: "adreno-7xx", Features: []string{"shader-f16"}},
	WebNN:  detect.WebNN{Absent: "the browser has no WebNN here"},
}

// TestReports: a real adapter is part of the host and present; a software one
// is present as such; what is lacking says why.
func TestReports(t *testing.T) {
	t.Parallel()
	about := About{UserAgent: pixel}
	hard, err := about.report(phone, "1.30.0")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"qualcomm adreno-7xx"}, hard.Host.Devices); diff != "" {
		t.Error(diff)
	}
	swift := phone
	swift.WebGPU = detect.WebGPU{Vendor: "google", Architecture: "swiftshader"}
	soft, err := about.report(swift, "1.30.0")
	if err != nil {
		t.Fatal(err)
	}
	if soft.Host.Devices != nil || soft.Host.ID == hard.Host.ID || hard.Host.ID == "" {
		t.Errorf("hosts: %+v, %+v", hard.Host, soft.Host)
	}
	if len(hard.Platforms) != 2 {
		t.Errorf("a guest's report is about browsers alone: %+v", hard.Platforms)
	}
	want := []offerTarget{
		{Target: "webgpu@chrome", Title: "WebGPU", Detail: "google swiftshader", Present: true, Software: true},
		{Target: "webnn@chrome", Title: "WebNN", Detail: "the browser has no WebNN here"},
		{Target: "cpu/wasm@chrome", Title: "WebAssembly", Detail: "the browser's own code on the CPU", Present: true},
	}
	if diff := cmp.Diff(want, targets(soft, "chrome")); diff != "" {
		t.Error(diff)
	}
	if p, _ := hard.Get(platform.WebGPU); p.Status != detect.Present || p.Devices[0].Software {
		t.Errorf("WebGPU: %+v", p)
	}
}

// FuzzAbout: whatever a browser says, it becomes a target and a host, and the
// host has no processor that nobody named.
func FuzzAbout(f *testing.F) {
	for _, s := range []string{iPhone, macSafari, pixel, foxLinux, edgeText, ""} {
		f.Add(s, "Android", "arm", 5)
	}
	f.Fuzz(func(t *testing.T, agent, system, arch string, touch int) {
		about := About{UserAgent: agent, Platform: system, Architecture: arch, TouchPoints: touch}
		kind, version := about.browser()
		if _, err := platform.ParseTarget("webgpu@" + kind); err != nil || version == "" {
			t.Errorf("%q is a browser of kind %q, version %q: %v", agent, kind, version, err)
		}
		r, err := about.report(phone, "1")
		if err != nil || r.Host.ID == "" || r.Host.OS == "" || r.Host.CPU != "" {
			t.Errorf("%q gave %+v, %v", agent, r.Host, err)
		}
	})
}

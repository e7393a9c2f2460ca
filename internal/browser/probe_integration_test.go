//go:build integration

package browser

import (
	"slices"
	"testing"
	"time"

	"assay/internal/detect"
	"assay/internal/environment"
)

func TestIntegrationProbe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o Options) {
		o.Software = false
		a, err := Probe(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if a.Kind != o.Kind || a.Path != o.Path || a.Version == "" {
			t.Errorf("it says that it is %s %s at %s", a.Kind, a.Version, a.Path)
		}
		if !a.Wasm.SIMD || !a.Wasm.Isolated || !a.Wasm.Threads || a.Wasm.Cores == nil {
			t.Errorf("WebAssembly: %+v", a.Wasm)
		}
		if a.WebGPU.Absent+a.WebGPU.Error == "" && (len(a.WebGPU.Features) == 0 || a.WebGPU.Limits["maxBufferSize"] == 0) {
			t.Errorf("an adapter without features or limits: %+v", a.WebGPU)
		}
		if a.WebNN.Absent+a.WebNN.Error == "" && len(a.WebNN.Devices) != 3 {
			t.Errorf("WebNN: %+v", a.WebNN)
		}
	})
}

// TestIntegrationProbePacked: what Assay brings must have both, and say what
// they are.
func TestIntegrationProbePacked(t *testing.T) {
	t.Parallel()
	web := packed(t)
	if web.Chromium() == "" {
		t.Skip("no Chromium is packed for this machine")
	}
	ask := Asking{Machine: alone(), Web: web, Cache: t.TempDir()}
	if kept := (Asking{Machine: ask.Machine, Web: web, Cache: ask.Cache, Kept: true}).Answers(t.Context()); kept[detect.BrowserProbe+Packed].Data != nil {
		t.Error("an answer was kept before anybody asked")
	}
	report := detect.Judge(detect.Look(detect.Live()), ask.Answers(t.Context()))
	i := slices.IndexFunc(report.Browsers, func(b detect.Browser) bool { return b.Name == Packed })
	if i < 0 || report.Browsers[i].Answer == nil {
		t.Fatalf("the packed Chromium did not answer: %+v", report.Browsers)
	}
	a := report.Browsers[i].Answer
	if a.WebGPU.Absent+a.WebGPU.Error != "" || len(a.WebNN.Devices) == 0 || !a.WebNN.Devices[0].Computes || len(a.WebNN.Devices[0].Operations) < 50 {
		t.Errorf("WebGPU %+v, WebNN %+v", a.WebGPU, a.WebNN)
	}
	begin := time.Now()
	again := Asking{Machine: ask.Machine, Web: web, Cache: ask.Cache, Kept: true}.Answers(t.Context())
	if again[detect.BrowserProbe+Packed].Data == nil || time.Since(begin) > 2*time.Second {
		t.Errorf("the answer was not kept (%v)", time.Since(begin))
	}
}

// TestIntegrationPackedLibraries: the libraries that are packed for systems
// that lack them are ones that Chromium runs with.
func TestIntegrationPackedLibraries(t *testing.T) {
	t.Parallel()
	web := packed(t)
	if web.Chromium() == "" {
		t.Skip("no Chromium is packed for this machine")
	}
	if unmet, err := web.UnmetLibraries(t.Context()); err != nil || len(unmet) > 0 {
		t.Errorf("these are nowhere: %v (%v)", unmet, err)
	}
	url, seen := site(t)
	b := started(t, Options{Kind: Packed, Path: web.Chromium(), Env: []string{"LD_LIBRARY_PATH=" + web.Libraries()}})
	opened(t, b, url+"/page")
	await(t, "a page", seen)
}

// alone is this machine without its installed browsers.
func alone() *detect.Machine {
	m := detect.Live()
	m.Find = func(string) (string, bool) { return "", false }
	return m
}

func TestIntegrationFind(t *testing.T) {
	t.Parallel()
	if found := Find(t.Context(), alone(), environment.Web{}); len(found) > 0 {
		t.Errorf("found %+v where there is nothing", found)
	}
	web := packed(t)
	found := Find(t.Context(), alone(), web)
	if web.Chromium() != "" && (len(found) != 1 || found[0].Kind != Packed || found[0].Path != web.Chromium()) {
		t.Errorf("found %+v", found)
	}
}

package platform

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEveryPlatformIsWhole(t *testing.T) {
	t.Parallel()
	if len(All()) != 8 {
		t.Fatalf("%d platforms, want 8", len(All()))
	}
	for _, p := range All() {
		if p.Title == "" || len(p.Engines) == 0 || len(p.DTypes) == 0 {
			t.Errorf("%s lacks a title, an engine or a dtype", p.Name)
		}
		if p.Name != CPU && (len(p.Fallback) == 0 || p.Fallback[len(p.Fallback)-1] != CPU) {
			t.Errorf("%s falls back to %v, which does not end at the CPU", p.Name, p.Fallback)
		}
		if slices.Contains(p.Fallback, p.Name) {
			t.Errorf("%s falls back to itself", p.Name)
		}
	}
}

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		want Target
		out  string
	}{
		{"cpu", Target{CPU, "", Torch, ""}, "cpu"},
		{"cuda", Target{CUDA, "0", Torch, ""}, "cuda"},
		{"cuda:0", Target{CUDA, "0", Torch, ""}, "cuda"},
		{"cuda:1", Target{CUDA, "1", Torch, ""}, "cuda:1"},
		{"CUDA", Target{CUDA, "0", Torch, ""}, "cuda"},
		{"openvino:NPU", Target{OpenVINO, "NPU", EngOpenVINO, ""}, "openvino:NPU"},
		{"qnn:sm8650", Target{QNN, "sm8650", EngQNN, ""}, "qnn:sm8650"},
		{"cpu/onnxruntime", Target{CPU, "", ONNXRuntime, ""}, "cpu/onnxruntime"},
		{"mps/coreml", Target{MPS, "", CoreML, ""}, "mps/coreml"},
		{"cpu/wasm@chromium", Target{CPU, "", Wasm, "chromium"}, "cpu/wasm@chromium"},
		{"webgpu@firefox", Target{WebGPU, "", ORTWeb, "firefox"}, "webgpu@firefox"},
	} {
		got, err := ParseTarget(tc.in)
		if err != nil || got != tc.want || got.String() != tc.out {
			t.Errorf("ParseTarget(%q) = %+v (%q), %v; want %+v (%q)", tc.in, got, got, err, tc.want, tc.out)
		}
	}
	for _, in := range []string{"", "tpu", "cpu:", "cuda/coreml", "cpu:a/b/c", "cpu; rm -rf /", "cuda:../../etc", "cpu@firefox", "openvino@chrome", "wasm"} {
		if got, err := ParseTarget(in); err == nil {
			t.Errorf("ParseTarget(%q) = %+v, want an error", in, got)
		}
	}
	if _, err := ParseTarget("gpu"); err == nil || !strings.Contains(err.Error(), "cpu, cuda, rocm") {
		t.Errorf("an unknown platform's error does not list the platforms: %v", err)
	}
}

func TestTargetRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(All()).Draw(t, "platform")
		want := Target{
			Platform: p.Name,
			Device:   rapid.SampledFrom([]string{"", "0", "1", "NPU", "sm8650"}).Draw(t, "device"),
			Engine:   rapid.SampledFrom(p.Engines).Draw(t, "engine"),
			Browser:  rapid.SampledFrom([]string{"", "firefox"}).Draw(t, "browser"),
		}.Normal()
		if !want.Engine.Traits().Pages {
			want.Browser = ""
		}
		got, err := ParseTarget(want.String())
		if err != nil || got != want {
			t.Fatalf("%q parsed to %+v, %v; want %+v", want, got, err, want)
		}
	})
}

func FuzzParseTarget(f *testing.F) {
	f.Add("cpu/wasm@firefox")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseTarget(s)
		if err != nil {
			return
		}
		if again, err := ParseTarget(got.String()); err != nil || again != got {
			t.Fatalf("%q → %+v → %+v, %v", s, got, again, err)
		}
	})
}

func TestPreferenceEndsAtTheCPU(t *testing.T) {
	t.Parallel()
	for _, f := range []string{"encoder-only", "vision", "audio", "multimodal", "state-space", "time-series", "unheard-of"} {
		order := Preference(f)
		if order[len(order)-1] != CPU {
			t.Errorf("preference for %s is %v, which does not end at the CPU", f, order)
		}
	}
}

// TestDTypesOfEngines: an engine that computes in numbers other than its
// platform's default one says so.
func TestDTypesOfEngines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"cpu": "fp32, bf16, fp16", "cpu/onnxruntime": "fp32", "cpu/wasm": "fp32, w8, w4",
		"mps/coreml": "fp16, fp32", "webgpu": "fp32, fp16, w8, w4",
	} {
		target, err := ParseTarget(in)
		if got := Join(target.DTypes()); err != nil || got != want || string(target.DType()) != strings.Split(want, ",")[0] {
			t.Errorf("%s runs in %s by default, and in %s, %v; want %s", in, target.DType(), got, err, want)
		}
	}
}

func TestParseDType(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]DType{"fp32": FP32, "float16": FP16, "BF16": BF16, "int8": INT8} {
		if got, err := ParseDType(in); err != nil || got != want {
			t.Errorf("ParseDType(%q) = %q, %v", in, got, err)
		}
	}
	if _, err := ParseDType("fp12"); err == nil || !strings.Contains(err.Error(), "bf16") {
		t.Errorf("ParseDType(fp12): %v", err)
	}
}

package detect

import "strings"

// BrowserAnswer is what a browser said about itself, from its own page. What
// it could not tell is nil.
type BrowserAnswer struct {
	Kind    string `json:"kind"` // as in a target: packed, chromium, firefox
	Path    string `json:"path"`
	Version string `json:"version"`
	// Forced says that the browser has no adapter by itself, and was started
	// again with its software one.
	Forced bool        `json:"forced"`
	Args   []string    `json:"args,omitempty"` // further flags that its adapter was had with
	WebGPU WebGPU      `json:"webgpu"`
	WebNN  WebNN       `json:"webnn"`
	Wasm   WebAssembly `json:"wasm"`
}

// WebGPU is a browser's adapter, or why there is none: Absent when the browser
// says so, Error when asking failed.
type WebGPU struct {
	Absent       string           `json:"absent,omitempty"`
	Error        string           `json:"error,omitempty"`
	Vendor       string           `json:"vendor"` // as the browser says it; often less than the driver knows
	Architecture string           `json:"architecture"`
	Device       string           `json:"device"`
	Description  string           `json:"description"`
	Fallback     *bool            `json:"fallback"` // the browser's own word that it is a software adapter
	Features     []string         `json:"features"`
	Limits       map[string]int64 `json:"limits"`
}

// WebNN is what navigator.ml gives for each type of device that is asked for.
type WebNN struct {
	Absent  string        `json:"absent,omitempty"`
	Error   string        `json:"error,omitempty"`
	Devices []WebNNDevice `json:"devices"`
}

// WebNNDevice is one type of device. Which hardware is behind it the browser
// does not say.
type WebNNDevice struct {
	Type       string   `json:"type"`     // cpu, gpu, npu
	Computes   bool     `json:"computes"` // it gave a context, and a graph came out right
	Error      string   `json:"error,omitempty"`
	Operations []string `json:"operations,omitempty"`
	DataTypes  []string `json:"data_types"`   // of an input
	Matmul     []string `json:"matmul_types"` // of a product of matrices
	MaxBytes   *int64   `json:"max_tensor_bytes"`
	Layout     string   `json:"layout,omitempty"` // preferred for images: nchw, nhwc
}

// WebAssembly is what the browser's own CPU code can use.
type WebAssembly struct {
	SIMD        bool `json:"simd"`
	RelaxedSIMD bool `json:"relaxed_simd"`
	Threads     bool `json:"threads"`  // the page is isolated, and memory can be shared
	Isolated    bool `json:"isolated"` // crossOriginIsolated
	JSPI        bool `json:"jspi"`     // JavaScript promises can be awaited from WebAssembly
	Cores       *int `json:"cores"`
}

// words names what there is.
func (w WebAssembly) words() []string {
	words := []string{"wasm"}
	for _, row := range []struct {
		has  bool
		name string
	}{{w.SIMD, "simd"}, {w.RelaxedSIMD, "relaxed simd"}, {w.Threads, "threads"}, {w.JSPI, "jspi"}} {
		if row.has {
			words = append(words, row.name)
		}
	}
	return words
}

// BrowserVersions are what browsers said about their versions, by kind.
func (a Answers) BrowserVersions() map[string]string {
	out := map[string]string{}
	for question, answer := range a {
		var said BrowserAnswer
		if kind, ok := strings.CutPrefix(question, BrowserProbe); ok && answer.into(&said) && said.Version != "" {
			out[kind] = said.Version
		}
	}
	return out
}

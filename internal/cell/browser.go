package cell

// Browser is what is known about the browser in whose page a cell ran. Null is
// unknown.
type Browser struct {
	Name      string   `json:"name"` // packed, chromium, chrome, edge, firefox, safari
	Version   string   `json:"version"`
	UserAgent string   `json:"user_agent"`
	Software  bool     `json:"software"`   // its adapter was forced to be a software one
	Isolated  bool     `json:"isolated"`   // memory may be shared between threads, and the clock is fine
	Cores     *int     `json:"cores"`      // as the browser tells them
	Threads   int      `json:"threads"`    // of ONNX Runtime in the page
	Build     string   `json:"build"`      // of ONNX Runtime Web: ort.jspi, ort.webgpu, ort.wasm
	HeapBytes *int64   `json:"heap_bytes"` // of JavaScript, after the last run
	Adapter   *Adapter `json:"adapter"`    // nil: WebGPU was not used
	Steps     []string `json:"steps"`      // done to the graph for browsers

	// F16 says whether the graph computes in 16 bits. DeviceFeatures are those
	// with which the session's WebGPU device was opened, out of the adapter's:
	// with "subgroups" among them its kernels use them. Nil is unknown, or not
	// WebGPU.
	F16            *bool    `json:"f16,omitempty"`
	DeviceFeatures []string `json:"device_features,omitempty"`

	// GPUClock says how the device's times were taken; nil where none were.
	GPUClock *GPUClock `json:"gpu_clock,omitempty"`
}

// GPUClock is a GPU's own clock, read at both ends of every compute pass.
type GPUClock struct {
	Passes *int     `json:"passes"`        // of one inference
	StepMS *float64 `json:"step_ms"`       // which the browser coarsens
	Why    string   `json:"why,omitempty"` // why no time is known
}

// Adapter is a browser's WebGPU adapter, in its own words.
type Adapter struct {
	Vendor       string           `json:"vendor"`
	Architecture string           `json:"architecture"`
	Device       string           `json:"device"`
	Description  string           `json:"description"`
	Fallback     bool             `json:"fallback"` // a software adapter, by the browser's own word
	Features     []string         `json:"features"`
	Limits       map[string]int64 `json:"limits"`
}

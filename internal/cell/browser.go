package cell

// Browser is the browser that a cell ran in: what is known of it from outside,
// and what its page said.
type Browser struct {
	Name      string `json:"browser"` // as in a target: packed, chromium, chrome, firefox, safari
	Version   string `json:"version"`
	Software  bool   `json:"software"` // it was told to take a software adapter
	UserAgent string `json:"user_agent,omitempty"`
	Isolated  bool   `json:"isolated"` // its pages may share memory between threads
	Cores     *int   `json:"cores"`    // as it says; some say fewer than there are
	JSPI      bool   `json:"jspi"`     // WebAssembly may wait for JavaScript's promises
	WebGPU    bool   `json:"webgpu"`
	WebNN     bool   `json:"webnn"`
}

// Adapter is a WebGPU adapter as the browser describes it; many say little.
type Adapter struct {
	Vendor       string           `json:"vendor"`
	Architecture string           `json:"architecture"`
	Device       string           `json:"device"`
	Description  string           `json:"description"`
	Fallback     bool             `json:"fallback"` // a software one, by the browser's own word
	Features     []string         `json:"features"`
	Limits       map[string]int64 `json:"limits"`
}

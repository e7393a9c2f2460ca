package detect

import (
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Schema is the version of the report's JSON form.
const Schema = 1

// Status says whether cells can run on a platform.
type Status string

// The three statuses.
const (
	Present Status = "present" // a cell can run there
	Absent  Status = "absent"  // it cannot, and the evidence says what is missing
	Unknown Status = "unknown" // it could not be determined
)

// Report is what detection found: the top level of detect --json.
type Report struct {
	Schema       int               `json:"schema"`
	Host         cell.Host         `json:"host"`
	CPU          CPU               `json:"cpu"`
	Memory       Memory            `json:"memory"`
	Platforms    []Platform        `json:"platforms"`
	Accelerators []Accelerator     `json:"accelerators"` // other than the platforms' own
	Browsers     []Browser         `json:"browsers"`
	Environment  map[string]string `json:"environment"` // the variables that matter and are set

	Plugins []Platform `json:"-"` // of torch's plug-ins, those that are not here: rows for who names them
}

// Platform is what is known about one platform on this machine. Seen tells apart
// what is absent because it is not there from what is there and runs no cell:
// its hardware was seen, or a device or browser that its engine would use.
type Platform struct {
	Platform platform.Name `json:"platform"`
	Status   Status        `json:"status"`
	Seen     bool          `json:"seen"`
	Engine   *Engine       `json:"engine"` // nil when none was confirmed
	Devices  []Device      `json:"devices"`
	Evidence []Evidence    `json:"evidence"`
	Hint     string        `json:"hint"`
}

// Engine is the confirmed software that executes cells on a platform.
type Engine struct {
	Name    platform.Engine `json:"name"`
	Version string          `json:"version"`
}

// Device is one piece of a platform. ID is what stands behind the colon of a
// target, except where a platform has only one device (cpu, mps).
type Device struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	MemoryBytes *int64    `json:"memory_bytes"` // nil is unknown
	Features    []string  `json:"features"`
	Software    bool      `json:"software"`          // an emulator or a software adapter
	Settings    *Settings `json:"settings"`          // nil where too little is known to advise
	Browser     string    `json:"browser,omitempty"` // the browser that it is reached through, as in a target
}

// Settings is what a cell should be run with on a device when the user asks
// for nothing else. Why gives the reason of each.
type Settings struct {
	DType   platform.DType `json:"dtype"`
	Batch   int            `json:"batch"`
	Threads int            `json:"threads"`
	Why     string         `json:"why"`
}

// Evidence is one observation and where it was made.
type Evidence struct {
	Source string `json:"source"`
	Detail string `json:"detail"`
}

// Accelerator is a device that no engine of Assay drives yet, or one that was
// retired by its own software.
type Accelerator struct {
	Kind   string `json:"kind"` // npu, tpu, gaudi, ascend, neuron, dsp, vpu, fpga
	Name   string `json:"name"`
	Source string `json:"source"`
	Note   string `json:"note,omitempty"`
}

// Browser is an installed browser, or Assay's own.
type Browser struct {
	Name   string         `json:"name"` // as in a target: packed, chromium, chrome, edge, firefox, safari
	Path   string         `json:"path"`
	Answer *BrowserAnswer `json:"answer"` // nil when it was not asked, or did not answer
}

// Get returns the report's row for a platform.
func (r Report) Get(name platform.Name) (Platform, bool) {
	for _, p := range append(slices.Clip(r.Platforms), r.Plugins...) {
		if p.Platform == name {
			return p, true
		}
	}
	return Platform{}, false
}

// Present are the platforms that are here.
func (r Report) Present() []platform.Name {
	var out []platform.Name
	for _, p := range r.Platforms {
		if p.Status == Present {
			out = append(out, p.Platform)
		}
	}
	return out
}

// Only returns the report with the named platforms alone, in the fixed order.
// Browsers stay where a platform that lives in them does.
func (r Report) Only(names ...platform.Name) Report {
	if len(names) == 0 {
		return r
	}
	kept := []Platform{}
	for _, p := range append(slices.Clip(r.Platforms), r.Plugins...) {
		for _, n := range names {
			if p.Platform == n {
				kept = append(kept, p)
				break
			}
		}
	}
	r.Platforms = kept
	if !r.has(platform.WebNN, platform.WebGPU) {
		r.Browsers = []Browser{}
	}
	return r
}

// has reports whether the report has a row for any of the platforms.
func (r Report) has(names ...platform.Name) bool {
	return slices.ContainsFunc(names, func(n platform.Name) bool {
		_, ok := r.Get(n)
		return ok
	})
}

// Without returns the report with a platform taken for absent.
func (r Report) Without(name platform.Name) Report {
	r.Platforms = slices.Clone(r.Platforms)
	for i := range r.Platforms {
		if r.Platforms[i].Platform == name {
			r.Platforms[i].Status = Absent
		}
	}
	return r
}

// narrowed reports whether the report is about some of the platforms only.
func (r Report) narrowed() bool { return len(r.Platforms) < len(platform.Names()) }

package weblab

import (
	"cmp"
	"slices"

	"assay/internal/detect"
)

// About is what a guest's page knows of the machine that it is on. Browsers
// tell different parts of it; what one does not tell stays empty.
type About struct {
	UserAgent string `json:"user_agent"`
	// Brands to Model are what newer browsers tell when asked; see the User-Agent
	// Client Hints. Older ones and those that disagree tell the user agent alone.
	Brands          []Brand  `json:"brands"`
	Platform        string   `json:"platform"`
	PlatformVersion string   `json:"platform_version"`
	Architecture    string   `json:"architecture"`
	Bitness         string   `json:"bitness"`
	Model           string   `json:"model"`
	Cores           *int     `json:"cores"`
	MemoryGB        *float64 `json:"memory_gb"` // rounded and capped by the browser: never taken for the machine's memory
	TouchPoints     int      `json:"touch_points"`
	Screen          *Screen  `json:"screen"`
	Secure          bool     `json:"secure"` // else there is neither WebGPU nor WebNN
}

// Brand is one of the names that a browser goes by.
type Brand struct {
	Brand   string `json:"brand"`
	Version string `json:"version"`
}

// Screen is the guest's, in CSS pixels.
type Screen struct {
	Width  int     `json:"width"`
	Height int     `json:"height"`
	Ratio  float64 `json:"ratio"` // device pixels to one
}

// report is what detection would say on the guest's machine, of what lives in
// browsers. Nothing in it is of this machine.
func (a About) report(answer detect.BrowserAnswer, engine string) (detect.Report, error) {
	answer.Kind, answer.Version = a.browser()
	seen := detect.Sighting{OS: a.os(), Kernel: a.PlatformVersion, Arch: a.arch(), Instance: a.model()}
	if a.Cores != nil {
		seen.CPU = detect.CPU{Arch: seen.Arch, CPUs: *a.Cores, Usable: *a.Cores, Affinity: *a.Cores}
	}
	return detect.JudgeGuest(seen, answer, engine)
}

// browser is the guest's: its kind as in a target, and its version.
func (a About) browser() (kind, version string) {
	for _, row := range brands {
		i := slices.IndexFunc(a.Brands, func(b Brand) bool { return b.Brand == row.brand })
		if i >= 0 {
			return row.kind, cmp.Or(a.Brands[i].Version, unknownVersion)
		}
	}
	for _, row := range agents {
		if m := row.form.FindStringSubmatch(a.UserAgent); m != nil {
			return row.kind, m[1]
		}
	}
	return "browser", unknownVersion
}

func (a About) os() string {
	if a.Platform != "" {
		return cmp.Or(systems[a.Platform], "unknown")
	}
	for _, row := range systemsByAgent {
		if row.form.MatchString(a.UserAgent) && a.TouchPoints >= row.touch {
			return row.os
		}
	}
	return "unknown"
}

// arch is the processor's, in Go's words; "" where the browser keeps it to
// itself, as Android's and Safari on a Mac do.
func (a About) arch() string {
	if a.Platform != "" {
		return architectures[[2]string{a.Architecture, a.Bitness}]
	}
	for _, row := range architecturesByAgent {
		if row.form.MatchString(a.UserAgent) {
			return row.arch
		}
	}
	return ""
}

func (a About) model() string {
	if a.Model != "" {
		return a.Model
	}
	return models.FindString(a.UserAgent)
}

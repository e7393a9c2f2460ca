package weblab

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/platform"
)

// offer is what a guest may choose from.
type offer struct {
	Kind    string        `json:"kind"`
	Machine string        `json:"machine"` // in words
	Browser string        `json:"browser"` // in words
	Models  []offerModel  `json:"models"`
	Targets []offerTarget `json:"targets"`
	Timings []offerTiming `json:"timings"`
}

type offerModel struct {
	Name    string `json:"name"`
	Family  string `json:"family"`
	Task    string `json:"task"`
	Size    string `json:"size"`
	Weights string `json:"weights"`
}

// offerTarget is a platform of the guest's browser, or why it has none.
type offerTarget struct {
	Target   string `json:"target"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	Present  bool   `json:"present"`
	Software bool   `json:"software"`
}

type offerTiming struct {
	Timing cell.Timing `json:"timing"`
	Title  string      `json:"title"`
	Detail string      `json:"detail"`
}

// timings are what a run may be, the first unless another is chosen.
var timings = []offerTiming{
	{cell.Functional, "Check", "does it work there: one run, compared with a reference"},
	{cell.Quick, "Check and time", "3 repeats of 0.2 s"},
	{cell.Thorough, "Time carefully", "6 repeats of 1 s, with an interval"},
}

// titles are the platforms' names on the page; WebNN's devices are several.
var titles = map[string]string{"gpu": "WebNN on the GPU", "npu": "WebNN on the NPU"}

// targets are what the guest's browser has, and what it lacks.
func targets(r detect.Report, browser string) []offerTarget {
	gpu, ml := get(r, platform.WebGPU), get(r, platform.WebNN)
	out := []offerTarget{offered(gpu, "WebGPU", browser)}
	if len(ml.Devices) == 0 {
		out = append(out, offered(ml, "WebNN", browser))
	}
	for _, d := range ml.Devices {
		t := platform.Target{Platform: platform.WebNN, Device: d.ID, Browser: browser}
		if d.ID == "cpu" {
			t.Device = "" // what WebNN computes on unless told
		}
		title := titles[d.ID]
		if title == "" {
			title = "WebNN"
		}
		out = append(out, offerTarget{Target: t.String(), Title: title, Detail: d.Name, Present: true, Software: d.Software})
	}
	wasm := platform.Target{Platform: platform.CPU, Engine: platform.Wasm, Browser: browser}
	return append(out, offerTarget{Target: wasm.String(), Title: "WebAssembly", Detail: "the browser's own code on the CPU", Present: true})
}

func get(r detect.Report, name platform.Name) detect.Platform {
	p, _ := r.Get(name)
	p.Platform = name
	return p
}

// offered is a platform's first device, or the browser's words on why there is
// none.
func offered(p detect.Platform, title, browser string) offerTarget {
	out := offerTarget{Target: platform.Target{Platform: p.Platform, Browser: browser}.String(), Title: title}
	if len(p.Devices) > 0 {
		d := p.Devices[0]
		out.Present, out.Detail, out.Software = true, d.Name, d.Software
		return out
	}
	for _, e := range p.Evidence {
		if e.Source == browser {
			out.Detail = e.Detail
		}
	}
	if out.Detail == "" {
		out.Detail = "the browser did not say what it has"
	}
	return out
}

func (g *guest) offer() offer {
	kind, version := g.about.browser()
	out := offer{Kind: "offer", Machine: describe(g.report.Host), Browser: kind + " " + version, Targets: targets(g.report, kind), Timings: timings}
	for _, m := range g.lab.o.Models {
		out.Models = append(out.Models, offerModel{m.Model(), m.Family, m.Task, m.Size, m.Weights})
	}
	return out
}

// describe is a machine in words: "Pixel 9, android 16, arm64, 8 cores, qualcomm".
func describe(h cell.Host) string {
	words := []string{h.Instance, strings.TrimSpace(h.OS + " " + h.Kernel), h.Arch}
	if h.Cores > 0 {
		words = append(words, fmt.Sprintf("%d cores", h.Cores))
	}
	words = slices.DeleteFunc(append(words, h.Devices...), func(w string) bool { return w == "" })
	return strings.Join(words, ", ")
}

// plan turns a guest's choice into a plan. What was not offered is refused.
func (g *guest) plan(s said) (cell.Plan, error) {
	kind, _ := g.about.browser()
	has := targets(g.report, kind)
	p := cell.Plan{Timing: s.Timing, NoFallback: true} // the user chose where; and a guest's cell runs nowhere else
	if !slices.ContainsFunc(timings, func(t offerTiming) bool { return t.Timing == s.Timing }) {
		return p, fmt.Errorf("there is no timing %q", s.Timing)
	}
	for _, m := range s.Models {
		if m < 0 || m >= len(g.lab.o.Models) {
			return p, fmt.Errorf("there is no model %d", m)
		}
		for _, name := range s.Targets {
			if !slices.ContainsFunc(has, func(t offerTarget) bool { return t.Target == name && t.Present }) {
				return p, fmt.Errorf("this browser has no %s", name)
			}
			t, err := platform.ParseTarget(name)
			if err != nil {
				return p, err
			}
			p.Cells = append(p.Cells, g.lab.o.Models[m].On(t))
		}
	}
	if len(p.Cells) == 0 {
		return p, errors.New("choose a model and a platform")
	}
	return p.Normal()
}

package skills

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// place is what a platform brings to a skill: an engine and how to reach it.
type place struct {
	device string // torch's name of it; "" where another engine runs the model
	here   string // the expression that says whether torch finds it
	piece  string // the function that another engine brings
	graph  bool   // that engine runs what `assay export` makes
	called string // how the name of its device begins, where that is not of the machine
}

var places = map[platform.Name]place{
	platform.CPU:      {device: "cpu", here: "lambda: True"},
	platform.CUDA:     {device: "cuda", here: "lambda: torch.version.cuda and torch.cuda.is_available()"},
	platform.ROCm:     {device: "cuda", here: "lambda: torch.version.hip and torch.cuda.is_available()"},
	platform.MPS:      {device: "mps", here: "torch.backends.mps.is_available"},
	platform.OpenVINO: {piece: "openvino", graph: true},
	platform.QNN:      {piece: "qnn", graph: true, called: "HTP on "},
	platform.WebNN:    {piece: "browser"},
	platform.WebGPU:   {piece: "browser"},
}

// withCPU are the platforms in their fixed order, the CPU always among them:
// there every chain of fallbacks ends.
func withCPU(on []platform.Name) []platform.Name {
	return slices.DeleteFunc(platform.Names(), func(n platform.Name) bool {
		return n != platform.CPU && !slices.Contains(on, n)
	})
}

// among keeps the platforms that the skill knows.
func (s skill) among(these []platform.Name) []any {
	out := []any{}
	for _, n := range these {
		if slices.Contains(s.on, n) {
			out = append(out, string(n))
		}
	}
	return out
}

// Preference is what auto tries, in order.
func (s skill) Preference() []any { return s.among(platform.Preference(s.family)) }

// Fallback is where the work of each platform goes that cannot do it.
func (s skill) Fallback() pytext.Dict {
	d := pytext.Dict{}
	for _, p := range platform.All() {
		if slices.Contains(s.on, p.Name) {
			d = append(d, pytext.Pair{Key: string(p.Name), Value: s.among(p.Fallback)})
		}
	}
	return d
}

// Devices are the rows of the platforms that torch runs.
func (s skill) Devices() []string {
	var rows []string
	for _, n := range s.on {
		if p := places[n]; p.device != "" {
			rows = append(rows, fmt.Sprintf("%q: (%q, %s)", n, p.device, p.here))
		}
	}
	return rows
}

// Graphs are the platforms whose engine runs graphs.
func (s skill) Graphs() []string {
	return names(slices.DeleteFunc(slices.Clone(s.on), func(n platform.Name) bool { return !places[n].graph }))
}

// GraphTable is the table of the functions that reach them.
func (s skill) GraphTable() string {
	d := pytext.Dict{}
	for _, n := range s.Graphs() {
		d = append(d, pytext.Pair{Key: n, Value: pytext.Code("_" + n)})
	}
	return pytext.Value(d, 0, len("GRAPHS = "), 0)
}

// Browsers are the platforms that a page has, as a tuple; "" where there are none.
func (s skill) Browsers() string {
	t := pytext.Tuple{}
	for _, n := range s.on {
		if places[n].piece == "browser" {
			t = append(t, string(n))
		}
	}
	if len(t) == 0 {
		return ""
	}
	return pytext.Value(t, 0, 0, 0)
}

func names(on []platform.Name) []string {
	return strings.Fields(strings.Trim(fmt.Sprint(on), "[]"))
}

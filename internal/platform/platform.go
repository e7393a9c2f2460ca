// Package platform holds the eight hardware platforms, those that torch reaches
// by plug-ins beside them, and the engines that execute on them as data: names, dtypes, what an engine can do, where a cell may
// go when a platform is not there, and which platform suits which family of
// models. A new engine is a row of the table in engines.go.
//
// It is a leaf: it imports only spelling, and everything else may import it.
// A platform is what a user names (cuda); an engine is the software that
// executes there (torch); a device is one piece of it (0, NPU, sm8650).
package platform

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/spelling"
)

// Name is a platform's name as users type it.
type Name string

// The eight platforms, in the order in which they are always shown.
const (
	CPU      Name = "cpu"
	CUDA     Name = "cuda"
	ROCm     Name = "rocm"
	MPS      Name = "mps"
	OpenVINO Name = "openvino"
	QNN      Name = "qnn"
	WebNN    Name = "webnn"
	WebGPU   Name = "webgpu"
)

// The platforms of torch's plug-ins. They are there where a user's environment
// has the plug-in, and stand beside the eight only there or where they are named.
const (
	XPU Name = "xpu"
	HPU Name = "hpu"
	NPU Name = "npu"
	XLA Name = "xla"
)

// Platform is what is known about a platform before any machine is looked at.
type Platform struct {
	Name  Name
	Title string // as people write it: "CUDA (NVIDIA)"
	// Device is the default device's id; "" means the platform has only one.
	Device string
	// Engines lists the engines that can execute there, the default first; the
	// table of engines says which do.
	Engines []Engine
	// DTypes lists what the platform can be asked for, the default first; a
	// target's engine may have a list of its own.
	DTypes []DType
	// Fallback is where a cell goes, in order, when the platform was asked
	// for and is not there.
	Fallback []Name
	// Runs says whether this version of Assay has a runner for the platform.
	// Detection works without one.
	Runs bool
}

// DType is a numeric type a cell is asked to run in.
type DType string

// The dtypes a cell may be asked for.
const (
	FP32 DType = "fp32"
	FP16 DType = "fp16"
	BF16 DType = "bf16"
	INT8 DType = "int8" // weights and activations
	// A16W8 has weights of 8 bits and activations of 16.
	A16W8 DType = "a16w8"
	// W8 and W4 have weights of 8 or 4 bits; activations stay as they are.
	W8 DType = "w8"
	W4 DType = "w4"
)

var dtypes = []DType{FP32, FP16, BF16, INT8, A16W8, W8, W4}

var all = withEngines([]Platform{
	{Name: CPU, Title: "CPU", DTypes: []DType{FP32, BF16, FP16}, Runs: true},
	{Name: CUDA, Title: "CUDA (NVIDIA)", Device: "0", DTypes: []DType{FP32, FP16, BF16}, Fallback: []Name{OpenVINO, CPU}, Runs: true},
	{Name: ROCm, Title: "ROCm (AMD)", Device: "0", DTypes: []DType{FP32, FP16, BF16}, Fallback: []Name{OpenVINO, CPU}, Runs: true},
	{Name: MPS, Title: "MPS (Apple)", DTypes: []DType{FP32, FP16, BF16}, Fallback: []Name{OpenVINO, CPU}, Runs: true},
	{Name: OpenVINO, Title: "OpenVINO (Intel)", Device: "CPU", DTypes: []DType{FP32, FP16, BF16, INT8, W8, W4}, Fallback: []Name{CPU}, Runs: true},
	{Name: QNN, Title: "QNN (Qualcomm)", DTypes: []DType{FP16, INT8, A16W8, FP32}, Fallback: []Name{CPU}, Runs: true},
	{Name: WebNN, Title: "WebNN (browser)", DTypes: []DType{FP32, FP16, W8, W4}, Fallback: []Name{CPU}, Runs: true},
	{Name: WebGPU, Title: "WebGPU (browser)", DTypes: []DType{FP32, FP16, W8, W4}, Fallback: []Name{WebNN, CPU}, Runs: true},
})

var plugins = withEngines([]Platform{
	{Name: XPU, Title: "XPU (Intel GPU, by torch)", Device: "0", DTypes: []DType{FP32, FP16, BF16}, Fallback: []Name{OpenVINO, CPU}, Runs: true},
	{Name: HPU, Title: "HPU (Intel Gaudi, by torch)", Device: "0", DTypes: []DType{FP32, BF16, FP16}, Fallback: []Name{CPU}, Runs: true},
	{Name: NPU, Title: "NPU (Huawei Ascend, by torch)", Device: "0", DTypes: []DType{FP32, FP16, BF16}, Fallback: []Name{CPU}, Runs: true},
	{Name: XLA, Title: "XLA (Google TPU, by torch)", Device: "0", DTypes: []DType{FP32, BF16, FP16}, Fallback: []Name{CPU}, Runs: true},
})

// Plugins returns the names of the platforms of torch's plug-ins.
func Plugins() []Name {
	names := make([]Name, len(plugins))
	for i, p := range plugins {
		names[i] = p.Name
	}
	return names
}

// IsPlugin reports whether a platform is reached by a plug-in of torch.
func (n Name) IsPlugin() bool { return slices.Contains(Plugins(), n) }

// Place is where a platform stands in any list: the eight first, then those of
// plug-ins, then what nobody knows.
func (n Name) Place() int {
	order := append(Names(), Plugins()...)
	if i := slices.Index(order, n); i >= 0 {
		return i
	}
	return len(order)
}

// withEngines fills in which engines serve each platform.
func withEngines(platforms []Platform) []Platform {
	for i := range platforms {
		platforms[i].Engines = enginesOn(platforms[i].Name)
	}
	return platforms
}

// All returns the eight platforms in their fixed order.
func All() []Platform { return slices.Clone(all) }

// Names returns the eight names in their fixed order.
func Names() []Name {
	names := make([]Name, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names
}

// Get returns the platform of that name, one of a plug-in too.
func Get(n Name) (Platform, bool) {
	for _, rows := range [][]Platform{all, plugins} {
		if i := slices.IndexFunc(rows, func(p Platform) bool { return p.Name == n }); i >= 0 {
			return rows[i], true
		}
	}
	return Platform{}, false
}

// Parse returns the platform that a user named, or an error that lists them all.
func Parse(s string) (Platform, error) {
	if p, ok := Get(Name(strings.ToLower(s))); ok {
		return p, nil
	}
	return Platform{}, fmt.Errorf("unknown platform %q: the platforms are %s, and with a plug-in of torch %s%s", s, Join(Names()), Join(Plugins()), meant(s))
}

// meant is the end of a sentence about a platform that is not known.
func meant(typed string) string {
	var names []string
	for _, n := range append(Names(), Plugins()...) {
		names = append(names, string(n))
	}
	if name := spelling.Meant(typed, names); name != "" {
		return ": did you mean " + name + "?"
	}
	return ""
}

// ParseDType returns the dtype that a user named; torch's spellings are taken too.
func ParseDType(s string) (DType, error) {
	name := strings.ToLower(s)
	if d, ok := spellings[name]; ok {
		return d, nil
	}
	if slices.Contains(dtypes, DType(name)) {
		return DType(name), nil
	}
	return "", fmt.Errorf("unknown dtype %q: the dtypes are %s", s, Join(dtypes))
}

// spellings are what dtypes are called elsewhere.
var spellings = map[string]DType{
	"float32": FP32, "f32": FP32,
	"float16": FP16, "f16": FP16, "half": FP16,
	"bfloat16": BF16,
	"i8":       INT8, "a8w8": INT8,
}

// HasEngine reports whether e executes on the platform.
func (p Platform) HasEngine(e Engine) bool { return slices.Contains(p.Engines, e) }

// GraphEngine is the engine that runs a user's own graph there and in no page;
// "" where none does.
func (p Platform) GraphEngine() Engine {
	for _, e := range p.Engines {
		if is := e.Traits(); is.ONNX && !is.Pages {
			return e
		}
	}
	return ""
}

// Preference is the order in which platforms are tried for a family when
// nothing is measured: the `auto` of the command line.
func Preference(family string) []Name {
	for _, row := range preference {
		if slices.Contains(row.families, family) {
			return slices.Clone(row.order)
		}
	}
	return slices.Clone(otherwise)
}

// otherwise is the order for families that no row names.
var otherwise = []Name{CUDA, ROCm, MPS, CPU}

var preference = []struct {
	families []string
	order    []Name
}{
	{[]string{"encoder-only", "decoder-only", "encoder-decoder", "rag"}, []Name{CUDA, ROCm, MPS, OpenVINO, CPU}},
	{[]string{"vision", "vision-text", "video"}, []Name{CUDA, ROCm, MPS, OpenVINO, QNN, CPU}},
	{[]string{"audio"}, []Name{CUDA, ROCm, OpenVINO, QNN, MPS, CPU}},
	{[]string{"multimodal", "diffusion"}, []Name{CUDA, ROCm, MPS, CPU}},
	{[]string{"mixture-of-experts", "state-space"}, []Name{CUDA, ROCm, CPU}},
}

// Join lists names as sentences do.
func Join[S ~string](names []S) string {
	s := make([]string, len(names))
	for i, n := range names {
		s[i] = string(n)
	}
	return strings.Join(s, ", ")
}

// Package artefact writes exported models for users: a folder for each, with the
// files that another engine reads, the inputs and outputs that a check elsewhere
// needs, and the result of the check that was made here.
//
// It copies what the runners left in the cache of exported models; what failed
// its check is not exported.
package artefact

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/cell"
)

// Format is what a model is exported to: the target that makes and checks it,
// and how a user runs it.
type Format struct {
	Name   string
	target string
	run    string
	same   bool // the graph itself is exported where the engine made none of its own
}

var formats = []Format{
	{Name: "onnx", target: "cpu/onnxruntime", run: `onnxruntime.InferenceSession("model.onnx")`},
	{Name: "openvino", target: "openvino:CPU", run: `openvino.Core().compile_model("model.xml", "CPU")`},
	{Name: "qnn", target: "qnn", run: "onnxruntime with onnxruntime-qnn: register the provider and load the file that holds its context"},
	{Name: "web", target: "cpu/wasm", run: `ort.InferenceSession.create("model.onnx") of onnxruntime-web, on WebGPU, WebNN or WebAssembly`, same: true},
	{Name: "coreml", target: "mps/coreml", run: `coremltools.models.MLModel("model.mlpackage")`},
}

// ParseFormat finds a format by its name.
func ParseFormat(name string) (Format, error) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		names := make([]string, len(formats))
		for i, f := range formats {
			names[i] = f.Name
		}
		return Format{}, fmt.Errorf("unknown format %q: the formats are %s", name, strings.Join(names, ", "))
	}
	return formats[i], nil
}

// Target is where the format is made and checked, for a device where it has
// several; "" is the usual one.
func (f Format) Target(device string) (string, error) {
	if device == "" {
		return f.target, nil
	}
	name, _, _ := strings.Cut(f.target, ":")
	if strings.Contains(name, "/") {
		return "", fmt.Errorf("--device cannot be used with %s, which is the same for every device", f.Name)
	}
	return name + ":" + device, nil
}

// Usage is how a user runs what was exported, with the setting that its check
// needed.
func (f Format) Usage(r cell.Result) string {
	if mode := r.Context.EngineSettings["snippets_mode"]; mode != "" {
		return strings.Replace(f.run, `"CPU")`, fmt.Sprintf(`"CPU", {"SNIPPETS_MODE": %q})`, mode), 1)
	}
	return f.run
}

package platform

import "slices"

// Engine is the software that executes a cell.
type Engine string

// The engines. Noop does nothing; it measures the harness itself.
const (
	Torch       Engine = "torch"
	ONNXRuntime Engine = "onnxruntime"
	EngOpenVINO Engine = "openvino"
	EngQNN      Engine = "qnn"
	CoreML      Engine = "coreml"
	ORTWeb      Engine = "ort-web"
	Wasm        Engine = "wasm"
	Noop        Engine = "noop"
)

// TransformersJS is the library that web applications use.
const TransformersJS = "transformers.js"

// Traits are what is known about an engine before any machine is looked at.
type Traits struct {
	// On lists the platforms that it executes on.
	On []Name
	// Libraries are the Python packages that execute there, whose versions
	// decide results. Where the engine is not its platform's first, it is there
	// when the first of them is.
	Libraries []string
	// Anywhere says that it needs no device of its platform, since converting
	// models for it is something too. That is work of the processor.
	Anywhere bool
	// Graphs says that it runs an exported graph and not the model itself.
	Graphs bool
	// ONNX says that it takes a user's own ONNX file.
	ONNX bool
	// Pages says that it runs in a page of a browser.
	Pages bool
	// Generates says that it continues texts: the mode generate.
	Generates bool
	// Lengths says that it continues them by any number of tokens.
	Lengths bool
	// Caches says that it can be told how to keep the past of a text.
	Caches bool
	// Trains says that it trains models: the mode train.
	Trains bool
	// Answers says that it runs from raw material to an answer: the mode pipeline.
	Answers bool
	// Throughput says that it can be measured with several inferences in flight.
	Throughput bool
	// Company says that several of its models can run at once on a device, each
	// in a process of its own.
	Company bool
	// Moves says that a model goes to its device and back to the processor.
	Moves bool
	// Blocks says that it can be told how to keep weights of few bits: how many
	// share a scale, and how exact products with them are.
	Blocks bool
	// Processor is the target by which it multiplies on this machine's own
	// processor with oneDNN, which heeds a bound on instruction sets; without a
	// device, any. The zero target is an engine that does not.
	Processor Target
	// Instead is the engine that stands for it on a platform that it does not
	// run on; "" is that platform's own.
	Instead Engine
	// Ways are how it can be told to get a model, beside its own choice: by a
	// graph in ONNX, directly from torch, or through a library of its own.
	Ways []string
	// DTypes are what it can be asked for, the default first, where that is not
	// its platform's list.
	DTypes []DType
}

// engines are all of them. A platform's engines stand in this order, its
// default the first.
var engines = []struct {
	name Engine
	Traits
}{
	{Torch, Traits{On: []Name{CPU, CUDA, ROCm, MPS, XPU, HPU, NPU, XLA}, Libraries: []string{"torch"}, Generates: true, Lengths: true, Caches: true, Trains: true, Answers: true, Throughput: true, Company: true, Moves: true,
		Processor: Target{Platform: CPU}}},
	{ONNXRuntime, Traits{On: []Name{CPU, CUDA}, Libraries: []string{"onnxruntime"}, Graphs: true, ONNX: true, Throughput: true, Company: true,
		DTypes: []DType{FP32}}}, // its CPU provider has too few operators in half precision
	{EngOpenVINO, Traits{On: []Name{OpenVINO}, Libraries: []string{"openvino", "nncf"}, Graphs: true, ONNX: true, Generates: true, Lengths: true,
		Throughput: true, Company: true, Ways: []string{"onnx", "torch"}, Processor: Target{Platform: OpenVINO, Device: "CPU"}}},
	{EngQNN, Traits{On: []Name{QNN}, Libraries: []string{"onnxruntime-qnn"}, Graphs: true, ONNX: true, Generates: true}},
	{CoreML, Traits{On: []Name{MPS}, Libraries: []string{"coremltools"}, Anywhere: true, Graphs: true,
		DTypes: []DType{FP16, FP32}}}, // fp16 is what the Neural Engine computes in
	{ORTWeb, Traits{On: []Name{WebNN, WebGPU}, Graphs: true, ONNX: true, Pages: true, Generates: true, Blocks: true,
		Ways: []string{TransformersJS}, Instead: Wasm}},
	{Wasm, Traits{On: []Name{CPU}, Graphs: true, ONNX: true, Pages: true, Generates: true, Blocks: true,
		Ways: []string{TransformersJS}, DTypes: []DType{FP32, W8, W4}}},
	{Noop, Traits{On: []Name{CPU}, Generates: true, Company: true}},
}

// Traits are the engine's; none for one that nobody knows.
func (e Engine) Traits() Traits {
	for _, row := range engines {
		if row.name == e {
			return row.Traits
		}
	}
	return Traits{}
}

// Engines lists every engine.
func Engines() []Engine {
	out := make([]Engine, len(engines))
	for i, row := range engines {
		out[i] = row.name
	}
	return out
}

// enginesOn are those of a platform, its default first.
func enginesOn(n Name) []Engine {
	return slices.DeleteFunc(Engines(), func(e Engine) bool { return !slices.Contains(e.Traits().On, n) })
}

// Libraries are those of all engines.
func Libraries() []string {
	var out []string
	for _, row := range engines {
		out = append(out, row.Libraries...)
	}
	return out
}

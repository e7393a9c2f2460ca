package failure

import (
	"strings"

	"assay/internal/cell"
)

// kind is a row of the table of exceptions.
type kind struct {
	name  string // as Classify gets it; a leading * stands for any module
	class cell.FailureClass
	// wraps marks exceptions that say only where another arose: what they
	// wrap, or what they say, decides if it is known.
	wraps bool
}

// kinds maps exceptions, or their bases, to classes. The nearest base wins, so
// the order of rows does not matter.
var kinds = []kind{
	{"torch.OutOfMemoryError", cell.OutOfMemory, false},
	{"torch.cuda.OutOfMemoryError", cell.OutOfMemory, false}, // its name before torch 2.5
	{"MemoryError", cell.OutOfMemory, false},

	{"ImportError", cell.MissingDependency, false},
	{"importlib.metadata.PackageNotFoundError", cell.MissingDependency, false},

	{"huggingface_hub.errors.LocalEntryNotFoundError", cell.MissingWeights, false},
	{"huggingface_hub.errors.RepositoryNotFoundError", cell.MissingWeights, false}, // and gated ones, which derive from it
	{"huggingface_hub.errors.HfHubHTTPError", cell.MissingWeights, false},
	{"*._pickle.UnpicklingError", cell.MissingWeights, false},
	{"safetensors._safetensors_rust.SafetensorError", cell.MissingWeights, true}, // also raised when a disk is full

	{"TimeoutError", cell.Timeout, false},
	{"subprocess.TimeoutExpired", cell.Timeout, false},

	{"PermissionError", cell.Environment, false},
	{"BrokenPipeError", cell.Environment, false},
	{"BlockingIOError", cell.Environment, false},
	{"KeyboardInterrupt", cell.Environment, false},

	{"torch.AcceleratorError", cell.Driver, true}, // every CUDA error; what it says tells which

	{"torch.onnx.OnnxExporterError", cell.Export, true},
	{"torch._dynamo.exc.TorchDynamoException", cell.Export, true},
	{"torch._dynamo.exc.Unsupported", cell.Export, true},
	{"torch.fx.proxy.TraceError", cell.Export, true},
	{"torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode", cell.Export, true},
	{"torch.jit.frontend.NotSupportedError", cell.Export, true},
	{"openvino._pyopenvino.OpConversionFailure", cell.Export, true},

	{"onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented", cell.UnsupportedOperator, false},

	{"assay_runner.errors.HarnessError", cell.Harness, false},
	{"assay_runner.errors.AbsentDevice", cell.Driver, false},
	{"assay_runner.errors.LostCompany", cell.Environment, false},
	{"assay_runner.errors.LostRank", cell.Crash, false},
	{"assay_runner.errors.MissingWeights", cell.MissingWeights, true},
	{"assay_runner.errors.UnsupportedDType", cell.UnsupportedDType, false},
	{"assay_runner.errors.UnreadableModel", cell.MissingWeights, false},
	{"assay_runner.errors.Unsuited", cell.Unsuited, false},
	{"assay_runner.errors.BeyondAssay", cell.BeyondAssay, false},
	{"assay_runner.errors.BadRecipe", cell.ModelError, false},
	{"assay_runner.errors.TooLarge", cell.OutOfMemory, false},
	{"assay_runner.errors.ExportFailed", cell.Export, false},
	{"assay_runner.errors.UnsupportedOperators", cell.UnsupportedOperator, false},
	{"assay_runner.errors.WrongExport", cell.WrongOutput, false},
	{"assay_runner.errors.PageLost", cell.Crash, false},
	{"assay_runner.errors.BrokenDown", cell.Crash, false},
	{"assay_runner.errors.PageUnopened", cell.Environment, false},
	{"assay_runner.errors.PageError", cell.ModelError, true}, // the page's own words tell what it was
	{"assay_runner.errors.RefusedGraph", cell.Export, true},  // what the engine says tells whether it lacks an operator
}

// kindOf finds the row of an exception by its name, then by those of its
// bases, nearest first.
func kindOf(t thrown) (kind, bool) {
	for _, name := range append([]string{t.kind}, t.bases...) {
		for _, k := range kinds {
			if k.fits(name) {
				return k, true
			}
		}
	}
	return kind{}, false
}

func (k kind) fits(name string) bool {
	if rest, ok := strings.CutPrefix(k.name, "*."); ok {
		return name == rest || strings.HasSuffix(name, "."+rest)
	}
	return name == k.name
}

// raised judges the exception and what caused it, the outermost first.
func raised(e Evidence) (finding, bool) {
	if e.Exception == "" {
		return finding{}, false
	}
	var wrapper *finding
	for _, t := range chain(e) {
		f, wraps, ok := t.judge()
		switch {
		case !ok:
		case !wraps:
			return f, true
		case wrapper == nil:
			wrapper = &f
		}
	}
	if wrapper == nil {
		return finding{}, false
	}
	return *wrapper, true
}

// judge finds one exception's class by its type, then by what it says. The
// words of a wrapper go before its type.
func (t thrown) judge() (f finding, wraps, ok bool) {
	k, known := kindOf(t)
	if known && !k.wraps {
		return finding{k.class, t.String()}, false, true
	}
	if f, ok := match(inMessage, t.message); ok {
		f.line = t.named(f.line)
		return f, false, true
	}
	if f, ok := match(inFrames, t.frames); ok {
		f.line = t.String()
		return f, false, true
	}
	return finding{k.class, t.String()}, true, known
}

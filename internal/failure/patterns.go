package failure

import (
	"regexp"

	"assay/internal/cell"
)

// place says which text a pattern is looked for in.
type place int

const (
	inMessage place = 1 << iota // what an exception says
	inLog                       // what a child printed that died without a report
	inFrames                    // the frames of an exception's traceback
)

// pattern is a row of the table of what failures look like.
type pattern struct {
	class cell.FailureClass
	where place
	what  string // in words, for whoever reads the table
	re    *regexp.Regexp
}

func row(class cell.FailureClass, where place, what, expr string) pattern {
	return pattern{class, where, what, regexp.MustCompile(expr)}
}

// patterns are tried in order: what breaks a machine before what breaks a
// model, the special before the general. Expressions are RE2, linear in the
// text. A row needs a file of the corpus that no other row catches.
var patterns = []pattern{
	// The machine.
	row(cell.Environment, inMessage|inLog, "a full disk", `No space left on device|\[Errno 28\]|Disk quota exceeded`),
	row(cell.Environment, inMessage, "torch's archive writer was cut short", `inline_container\.cc:\d+\].*unexpected pos`),
	row(cell.Environment, inMessage, "a limit on the size of files", `\[Errno 27\]`),
	row(cell.Environment, inMessage, "a read-only file system", `\[Errno 30\]`),
	row(cell.Environment, inMessage, "no descriptor left", `\[Errno 2[34]\]|Too many open files`),
	row(cell.Environment, inMessage, "an impossible path", `\[Errno (?:20|36|40)\]`),
	row(cell.Environment, inMessage, "a device that fails", `\[Errno 5\]`),
	row(cell.Environment, inMessage, "a port that is taken", `\[Errno 98\]|EADDRINUSE`),
	row(cell.Environment, inMessage|inLog, "no thread left", `can't start new thread|pthread_create failed|libgomp: Thread creation failed`),
	row(cell.Environment, inMessage, "no shared memory", `unable to (?:open|resize|mmap|allocate) (?:shared memory|file) ?(?:object|\(shm\))?.*</torch_`),
	row(cell.Environment, inMessage, "a child of a process that has used the device", `Cannot re-initialize \w+ in forked subprocess`),

	// Memory. CUDA's asynchronous errors say it in words of their own.
	row(cell.OutOfMemory, inMessage, "a device's memory", `(?i)(?:CUDA|HIP|XPU|MPS backend|CUDA error:|HIP error:) out of memory`),
	row(cell.OutOfMemory, inMessage|inLog, "torch's allocator", `DefaultCPUAllocator: (?:can't allocate|not enough) memory`),
	row(cell.OutOfMemory, inMessage, "the system's allocator", `\[Errno 12\]|(?i:os error 12\b)`),
	row(cell.OutOfMemory, inMessage, "more bytes than can be counted", `Storage size calculation overflowed`),
	row(cell.OutOfMemory, inMessage, "a library of the device", `CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED`),
	row(cell.OutOfMemory, inLog, "C++'s allocator", `std::bad_alloc`),

	// Devices and their drivers.
	row(cell.Driver, inMessage, "no driver, or an old one", `Found no NVIDIA driver|NVIDIA driver on your system is too old|CUDA driver version is insufficient`),
	row(cell.Driver, inMessage|inLog, "driver and library differ", `Driver/library version mismatch|system has unsupported display driver`),
	row(cell.Driver, inMessage, "no visible device", `No (?:CUDA|HIP|XPU) (?:GPUs|devices) are available|requires at least one CUDA device|torch\.cuda\.is_available\(\) is False|hipErrorNoDevice|no CUDA-capable device`),
	row(cell.Driver, inMessage, "torch without this back end", `Torch not compiled with \w+ enabled|not linked with support for \w+ devices|without \w+ backend`),
	row(cell.Driver, inMessage, "torch without this back end, as an operator sees it", `'aten::empty\S*' with arguments from the '(?:CUDA|HIP|XPU|MPS)' backend`),
	row(cell.Driver, inMessage, "torch without kernels for this device", `no kernel image is available`),
	row(cell.Driver, inMessage, "the driver's own library", `lib(?:cuda|nvidia-ml|amdhip64|ze_loader)\.so[.\d]*: cannot open shared object file`),
	row(cell.Driver, inMessage, "a driver that does not answer", `CUDA unknown error|unspecified launch failure|CUDA-capable device\(s\) is/are busy|GPU is lost|uncorrectable ECC error`),

	// Kernels that go wrong on the device.
	row(cell.Crash, inMessage, "a kernel that makes a bad access", `illegal memory access|misaligned address|illegal instruction was encountered|Memory access fault by GPU`),
	row(cell.ModelError, inMessage, "a check inside a kernel", `device-side assert triggered`),

	// Packages and libraries.
	row(cell.MissingDependency, inMessage, "a package", `No module named '|requires .?accelerate|(?i:module \w+ is not installed)|doesn't seem to be installed`),
	row(cell.MissingDependency, inMessage, "a library", `cannot open shared object file`),
	row(cell.MissingDependency, inMessage, "a compiler", `InvalidCxxCompiler|No working C\+\+ compiler|Failed to find C compiler`),
	row(cell.MissingDependency, inFrames, "a program", `in _execute_child\b`),
	row(cell.MissingDependency, inMessage, "a newer transformers", `Transformers does not recognize this architecture`),
	row(cell.MissingDependency, inMessage, "code that comes with the weights", `contains custom code which must be executed`),

	// Weights and the files beside them.
	row(cell.MissingWeights, inMessage, "no such files", `no file named (?:model\.safetensors|pytorch_model)|No such file or directory: \S+\.(?:safetensors|bin|json|gguf)\b`),
	row(cell.MissingWeights, inMessage, "no configuration, or one that is not JSON", "Should have a `model_type` key|is not a valid JSON file"),
	row(cell.MissingWeights, inMessage, "no such repository", `Repo id must be in the form|is not a local folder and is not a valid model identifier|trying to access a gated repo`),
	row(cell.MissingWeights, inMessage, "the Hub out of reach", `We couldn't connect to|(?i:connection refused|name or service not known|temporary failure in name resolution|network is unreachable)`),
	row(cell.MissingWeights, inMessage, "a file cut short", `PytorchStreamReader failed|incomplete metadata|invalid header|header too (?:small|large)|EOF while parsing`),
	row(cell.MissingWeights, inMessage, "weights of another model", "in loading state_dict for|`ignore_mismatched_sizes`"),
	row(cell.MissingWeights, inMessage, "no processor", `Can't load (?:image processor|tokenizer|feature extractor|processor|the configuration)`),

	// Time.
	row(cell.Timeout, inMessage, "a peer that does not answer", `(?i)timed out after|could not be acquired`),

	// Outputs.
	row(cell.WrongOutput, inMessage, "a comparison", `(?:Tensor-likes|Scalars|Arrays) are not (?:close|equal)|Not equal to tolerance|The values for attribute '\w+' do not match`),
	row(cell.WrongOutput, inMessage, "values that are not numbers", "probability tensor contains either `inf`, `nan`|returned nan values|but found invalid values:\\s*tensor\\(.*nan"),

	// Numeric types.
	row(cell.UnsupportedDType, inMessage, "an argument of another dtype", `to have one of the following scalar types`),
	row(cell.UnsupportedDType, inMessage, "no kernel for the dtype", `"[^"\n]+" not implemented for '\w+'`),
	row(cell.UnsupportedDType, inMessage, "no kernel for the dtype, in a library's own words", `(?:[Gg]ot|[Tt]ypes?|[Dd]type):? (?:Half|BFloat16|Byte|Char|Short|Int|Long|Bool|Complex\w+|Float8_\w+|QU?Int\d+)\b`),
	row(cell.UnsupportedDType, inMessage, "a platform without the dtype", `doesn't support float64|Promotion for Float8 Types is not supported`),
	row(cell.UnsupportedDType, inMessage, "dtypes that do not agree", `(?i)(?:have|be) the same dtype|expected scalar type \w+ but found|expected dtype \S+ for|dtypes match, got|does not match weight dtype|type \([\w:]+\) (?:and \w+ type \([\w:]+\) )?should be the same|self\.dtype to be equal to`),
	row(cell.UnsupportedDType, inMessage, "a constant that does not fit", `cannot be converted to type \S+ without overflow`),

	// Operators.
	row(cell.UnsupportedOperator, inMessage|inLog, "no kernel for the platform", `Could not run '[\w:.]+' with arguments from the|The operator '[\w:.]+' is not current(?:ly)? implemented for`),
	row(cell.UnsupportedOperator, inMessage, "no kernel for tensors without data", `attempted to run this operator with Meta tensors|register_meta function for \S+ raises unimplemented`),
	row(cell.UnsupportedOperator, inMessage, "an operator by its name alone", `^aten\.[\w.]+$`),
	row(cell.UnsupportedOperator, inMessage, "an extension that is not loaded", `'_OpNamespace' '\w+' object has no attribute`),
	row(cell.UnsupportedOperator, inMessage, "no derivative", `does not support backward on|use forward AD with \w+ that does not support it|derivative for \S+ is not implemented`),
	row(cell.UnsupportedOperator, inMessage, "no batching rule", `Batching rule not implemented for|support batching operators that`),
	row(cell.UnsupportedOperator, inMessage, "no attention kernel", `No available kernel\. +Aborting|No viable backend for scaled_dot_product|does not support an attention implementation through`),
	row(cell.UnsupportedOperator, inMessage, "a kernel library that declines", `could not create a primitive|unsupported memory format option`),
	row(cell.UnsupportedOperator, inMessage, "no deterministic kernel", `does not have a deterministic implementation`),
	row(cell.UnsupportedOperator, inMessage, "no rule for an exporter", `No conversion rule found for operations|Could not find an implementation for|No ONNX function found for`),
}

// match finds the first row that fits the text, and the line it fits.
func match(where place, text string) (finding, bool) {
	if text == "" {
		return finding{}, false
	}
	for _, p := range patterns {
		if p.where&where == 0 {
			continue
		}
		if at := p.re.FindStringIndex(text); at != nil {
			return finding{p.class, lineAt(text, at[0])}, true
		}
	}
	return finding{}, false
}

package failure

import (
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"assay/internal/cell"
	"assay/internal/platform"
)

// refusedByORT is what ONNX Runtime Web says of udop's graph on WebNN.
const refusedByORT = "ONNX Runtime Web refuses the graph: create: Can't create a session. ERROR_CODE: 1, ERROR_MESSAGE: Exception during initialization: " +
	"/mnt/azure_nvme_temp/_work/1/s/onnxruntime/core/optimizer/transformer_memcpy.cc:254 bool onnxruntime::TransformerMemcpyImpl::IsNodeCompatibleWithProvider(const onnxruntime::Node &) const " +
	"!node_provider_type.empty() was false. Provider type for Cast node with name 'node__to_copy_2' is not set.\n"

// unitEvidence are failures of Assay's own making, which no log shows, and other
// wordings of what the corpus has.
var unitEvidence = []struct {
	name   string
	class  cell.FailureClass
	detail string
	hint   string // a part of it
	Evidence
}{
	{"lost", cell.Environment, "the runner was lost: it ended with status 1", "assay doctor", Evidence{Lost: "it ended with status 1\nand more"}},
	{"lost beats a signal", cell.Environment, "the runner was lost: gone", "assay doctor", Evidence{Lost: "gone", Signal: int(syscall.SIGSEGV)}},
	{"protocol", cell.Environment, "the child broke the protocol: a line is longer than 8 MiB", "assay doctor", Evidence{ProtocolError: "a line is longer than 8 MiB", Signal: int(syscall.SIGKILL)}},
	{"memory that a moved model keeps", cell.ModelError, "memory stays on the device once the model is back: 9 bytes", "what keeps tensors", Evidence{
		Message: "memory stays on the device once the model is back: 9 bytes", Phase: "moves"}},
	{"operators that a vendor's compiler lacks", cell.UnsupportedOperator, "UnsupportedOperators: Core ML has no aten::det ×1", "", Evidence{
		Exception: "assay_runner.errors.UnsupportedOperators", Bases: []string{"assay_runner.errors.RefusedGraph"}, Message: "Core ML has no aten::det ×1", Phase: "convert"}},
	{"a vendor's library that is not there", cell.MissingDependency, "LibraryAbsent: libQnnHtp.so, Qualcomm's HTP library, is not beside the provider", "", Evidence{
		Exception: "assay_runner.errors.LibraryAbsent", Bases: []string{"assay_runner.errors.RunnerError", "ModuleNotFoundError", "ImportError"}, Message: "libQnnHtp.so, Qualcomm's HTP library, is not beside the provider", Phase: "import"}},
	{"a page that crashed", cell.Crash, "PageLost: the page is gone: the renderer crashed", "", Evidence{
		Exception: "assay_runner.errors.PageLost", Bases: []string{"assay_runner.errors.RunnerError"}, Message: "the page is gone: the renderer crashed", Phase: "run"}},
	{"an engine that broke down in a page", cell.Crash, "BrokenDown: ONNX Runtime Web broke down in WebAssembly: create: RuntimeError: memory access out of bounds", "", Evidence{
		Exception: "assay_runner.errors.BrokenDown", Bases: []string{"assay_runner.errors.RefusedGraph", "assay_runner.errors.RunnerError"},
		Message: "ONNX Runtime Web broke down in WebAssembly: create: RuntimeError: memory access out of bounds", Phase: "compile"}},
	{"a browser that does not start", cell.Environment, "PageUnopened: packed could not be started: it was not ready within 1m0s", "", Evidence{
		Exception: "assay_runner.errors.PageUnopened", Bases: []string{"assay_runner.errors.RunnerError"}, Message: "packed could not be started: it was not ready within 1m0s", Phase: "compile"}},
	{"what a page raised", cell.ModelError, "PageError: run: the WebGPU device was lost: destroyed", "", Evidence{
		Exception: "assay_runner.errors.PageError", Bases: []string{"assay_runner.errors.RunnerError"}, Message: "run: the WebGPU device was lost: destroyed", Phase: "run"}},
	{"a page that never answers", cell.Timeout, `PageTimeout: the page did not answer the call "create" within 5m0s`, "", Evidence{
		Exception: "assay_runner.errors.PageTimeout", Bases: []string{"assay_runner.errors.RunnerError", "TimeoutError", "OSError"}, Message: `the page did not answer the call "create" within 5m0s`, Phase: "compile"}},
	{"an operator that the engine lacks", cell.UnsupportedOperator, "RefusedGraph: OpenVINO refuses the graph: No conversion rule found for operations: Det-18", "", Evidence{
		Exception: "assay_runner.errors.RefusedGraph", Message: "OpenVINO refuses the graph: No conversion rule found for operations: Det-18", Phase: "convert"}},
	{"a graph that the engine refuses", cell.Export, "RefusedGraph: OpenVINO refuses the graph: Eltwise shape infer input shapes dim index: 1 mismatch", "the model was exported", Evidence{
		Exception: "assay_runner.errors.RefusedGraph", Message: "OpenVINO refuses the graph: Eltwise shape infer input shapes dim index: 1 mismatch", Phase: "compile"}},
	{"a graph on which ONNX Runtime fails", cell.Export, "RefusedGraph: ONNX Runtime Web refuses the graph: create: Exception during initialization: Provider type for Cast node with name 'node__to_copy_2' is not set.", "a pass of its own", Evidence{
		Exception: "assay_runner.errors.RefusedGraph", Message: refusedByORT, Phase: "compile", Platform: "webnn", DType: "fp32"}},
	{"an adapter without fp16", cell.UnsupportedDType, "UnsupportedDType: webgpu does not compute in fp16 in this browser: it has no shader-f16", "whose adapter has the feature shader-f16", Evidence{
		Exception: "assay_runner.errors.UnsupportedDType", Message: "webgpu does not compute in fp16 in this browser: it has no shader-f16", Platform: "webgpu", DType: "fp16"}},
	{"no exporter", cell.Export, "ExportFailed: no exporter could do it: aten.unique2 (modeling_x.py:12)", "could not turn the model into a graph", Evidence{
		Exception: "assay_runner.errors.ExportFailed", Message: "no exporter could do it: aten.unique2 (modeling_x.py:12)", Phase: "convert"}},
	{"a wrong graph", cell.WrongOutput, "WrongExport: the graph differs from the model by 0.5", "the graph that was written", Evidence{
		Exception: "assay_runner.errors.WrongExport", Message: "the graph differs from the model by 0.5", Phase: "convert"}},
	{"cancel", cell.Environment, "cancelled before it was done in phase build", "cancelled", Evidence{Killed: "cancel", Phase: "build", Signal: int(syscall.SIGKILL)}},
	{"memory", cell.OutOfMemory, "it took more memory than the cell may have, and was stopped in phase first", "--batch", Evidence{Killed: "memory", Phase: "first"}},
	{"timeout", cell.Timeout, "no answer within 30s in phase first", "--timeout", Evidence{Killed: "timeout", Message: "no answer within 30s", Phase: "first", Signal: int(syscall.SIGKILL)}},
	{"timeout beats its log", cell.Timeout, "no answer within its time limit", "--timeout", Evidence{Killed: "timeout", Log: "UserWarning: No module named 'flash_attn'"}},
	{"a kill that is not ours", cell.Environment, "SIGKILL (killed from outside)", "again", Evidence{Signal: int(syscall.SIGKILL)}},
	{"kernel", cell.OutOfMemory, "the kernel killed it when memory ran out", "container", Evidence{Signal: int(syscall.SIGKILL), OOMKilled: true}},
	{"shell's way to say SIGSEGV", cell.Crash, "SIGSEGV (segmentation fault)", "native code", Evidence{ExitStatus: shellStatus + int(syscall.SIGSEGV)}},
	{"interrupt", cell.Environment, "SIGINT (interrupted)", "cancelled", Evidence{Signal: int(syscall.SIGINT)}},
	{"an odd signal", cell.Crash, "ended by signal 63", "native code", Evidence{Signal: 63}},
	{"status", cell.Crash, "ended by itself with status 9 and no report in phase read: last words", "log", Evidence{ExitStatus: 9, Phase: "read", Log: "first\nlast words\n"}},
	{"warnings in a log prove nothing", cell.Crash, "SIGSEGV (segmentation fault)", "native code", Evidence{Signal: int(syscall.SIGSEGV), Log: "UserWarning: Found no NVIDIA driver on your system. \nNo module named 'apex'"}},
	{"a sentence alone", cell.ModelError, "the child ended without a word about its result", "nothing is known beyond the detail", Evidence{Message: "the child ended without a word about its result"}},
	{"a sentence that tells", cell.MissingWeights, "It looks like the config file at '…/config.json' is not a valid JSON file.", "config.json", Evidence{Message: "It looks like the config file at '/data/m/config.json' is not a valid JSON file.", Phase: "recipe"}},
	{"no recipe", cell.Environment, "there is no recipe for x: no inputs are known", "config.json", Evidence{Message: "there is no recipe for x: no inputs are known", Phase: "recipe"}},
	{"nothing at all", cell.ModelError, "", "nothing is known beyond the detail", Evidence{}},
	{"code of its own with a log", cell.ModelError, "ValueError: odd", "Read the log", Evidence{Exception: "ValueError", Message: "odd", Phase: "first", Log: "a line"}},
	{"code of its own with a traceback", cell.ModelError, "ValueError: odd", "Read the log", Evidence{Exception: "ValueError", Message: "odd", Phase: "first", Traceback: "Traceback (most recent call last):\nValueError: odd"}},
	{"status without a word", cell.Crash, "ended by itself with status 9 and no report", "gave no reason", Evidence{ExitStatus: 9, Log: " \n"}},
	{"a crash with a log", cell.Crash, "SIGSEGV (segmentation fault)", "with the log", Evidence{Signal: int(syscall.SIGSEGV), Log: "loading"}},
	{"a time-out with a log", cell.Timeout, "no answer within its time limit", "the log ends with", Evidence{Killed: "timeout", Log: "loading"}},
	{"a time-out without a log", cell.Timeout, "no answer within its time limit", "in the same phase", Evidence{Killed: "timeout"}},
	{"escapes are no paths", cell.Environment, `the child broke the protocol: "\ufffd\ufffd\x01\n" is not a message`, "assay doctor", Evidence{ProtocolError: `"\ufffd\ufffd\x01\n" is not a message`}},
	{"an escape behind a path", cell.Environment, `the child broke the protocol: "…/b\ufffd" is not a message`, "assay doctor", Evidence{ProtocolError: `"/srv/a/b\ufffd" is not a message`}},
	{"a Windows path", cell.MissingWeights, "OSError: cannot find '…/x.bin'", "--weights random", Evidence{Exception: "OSError", Message: `cannot find 'D:\models\x.bin'`, Phase: "read"}},
	{"unknown model type", cell.ModelError, "BadRecipe: …/config.json is for model_type 'nonesuch', which transformers 5.22.2 does not have", "Correct model_type", Evidence{
		Exception: "assay_runner.errors.BadRecipe", Message: "/srv/m/config.json is for model_type 'nonesuch', which transformers 5.22.2 does not have", Phase: "recipe"}},
	{"unknown model type by name", cell.ModelError, "BadRecipe: unknown model type 'nonesuch'", "update transformers", Evidence{
		Exception: "assay_runner.errors.BadRecipe", Message: "unknown model type 'nonesuch'", Phase: "recipe"}},
	{"no model type", cell.ModelError, "BadRecipe: config.json names no model_type, so there is no telling what model it is for", "Write the model_type", Evidence{
		Exception: "assay_runner.errors.BadRecipe", Message: "config.json names no model_type, so there is no telling what model it is for", Phase: "recipe"}},
	{"a pair that there is not", cell.Unsuited, "Unsuited: cpu/onnxruntime does not run in bf16: its dtypes are fp32", "a dtype that the target has", Evidence{
		Exception: "assay_runner.errors.Unsuited", Message: "cpu/onnxruntime does not run in bf16: its dtypes are fp32"}},
	{"a pipeline", cell.BeyondAssay, "BeyondAssay: the model is a pipeline of networks, which does not fit into one graph", "assay export --parts", Evidence{
		Exception: "assay_runner.errors.BeyondAssay", Message: "the model is a pipeline of networks, which does not fit into one graph", Phase: "convert"}},
	{"several calls", cell.BeyondAssay, "BeyondAssay: the model is run as several calls, which do not fit into one graph", "Run it with torch", Evidence{
		Exception: "assay_runner.errors.BeyondAssay", Message: "the model is run as several calls, which do not fit into one graph", Phase: "convert"}},
	{"absent device", cell.Driver, "AbsentDevice: torch 2.15.0 finds no cuda device on this machine", "assay detect", Evidence{
		Exception: "assay_runner.errors.AbsentDevice", Message: "torch 2.15.0 finds no cuda device on this machine", Phase: "to_device"}},
	{"company", cell.Environment, "LostCompany: a model that was to run at the same time ended", "the one that failed", Evidence{
		Exception: "assay_runner.errors.LostCompany", Message: "a model that was to run at the same time ended", Phase: "warmup"}},
	{"rank", cell.Crash, "LostRank: rank 1 of 2 ended with status 9", "--procs", Evidence{
		Exception: "assay_runner.errors.LostRank", Message: "rank 1 of 2 ended with status 9", Phase: "run"}},
	{"weights", cell.MissingWeights, "MissingWeights: the folder has no config.json", "--weights random", Evidence{
		Exception: "assay_runner.errors.MissingWeights", Message: "the folder has no config.json", Phase: "read"}},
	{"dtype", cell.UnsupportedDType, "UnsupportedDType: the torch engine does not run in int8: its dtypes are fp32", "--dtype fp32", Evidence{
		Exception: "assay_runner.errors.UnsupportedDType", Message: "the torch engine does not run in int8: its dtypes are fp32"}},
	{"recipe", cell.ModelError, "BadRecipe: input 'input_ids' draws ids from 5 up to 5, which is not a range", "recipe", Evidence{
		Exception: "assay_runner.errors.BadRecipe", Message: "input 'input_ids' draws ids from 5 up to 5, which is not a range"}},
	{"too large", cell.OutOfMemory, "TooLarge: 7,000,000,000 parameters of 4 bytes need 28.0 GB; 20.0 GB are available", "--size tiny", Evidence{
		Exception: "assay_runner.errors.TooLarge", Bases: []string{"assay_runner.errors.RunnerError", "MemoryError"},
		Message: "7,000,000,000 parameters of 4 bytes need 28.0 GB; 20.0 GB are available"}},
	{"a base tells", cell.OutOfMemory, "HugeError: no", "--batch", Evidence{Exception: "acme.HugeError", Bases: []string{"MemoryError", "Exception"}, Message: "no"}},
	{"raised while converting", cell.Export, "ValueError: odd", "no export", Evidence{Exception: "builtins.ValueError", Message: "odd", Phase: "convert"}},
	{"Windows' loader", cell.MissingDependency, "ImportError: DLL load failed while importing _C: The specified module could not be found.", "what the detail names", Evidence{
		Exception: "ImportError", Message: "DLL load failed while importing _C: The specified module could not be found.", Phase: "import"}},
	{"nothing to lower", cell.UnsupportedDType, "NotImplementedError: \"cdist\" not implemented for 'ComplexFloat'", "another platform", Evidence{
		Exception: "NotImplementedError", Message: "\"cdist\" not implemented for 'ComplexFloat'", Platform: "cpu", DType: "fp32"}},
	{"other numbers in fp32", cell.WrongOutput, "AssertionError: Tensor-likes are not close!", "even in fp32", Evidence{
		Exception: "AssertionError", Message: "Tensor-likes are not close!", Phase: "reference", Platform: "webnn", DType: "fp32"}},
	{"no numbers in fp32", cell.WrongOutput, "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.", "even in fp32", Evidence{
		Exception: "RuntimeError", Message: "Function 'SqrtBackward0' returned nan values in its 0th output.", Platform: "cpu", DType: "fp32"}},
	{"an old driver", cell.Driver, "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).", "Update the NVIDIA driver", Evidence{
		Exception: "RuntimeError", Message: "The NVIDIA driver on your system is too old (found version 11040).", Phase: "to_device"}},
	{"memory of MPS", cell.OutOfMemory, "RuntimeError: MPS backend out of memory", "--batch", Evidence{Exception: "RuntimeError", Message: "MPS backend out of memory", Phase: "first"}},
	{"an operator that aborts", cell.UnsupportedOperator, "The operator 'aten::x' is not currently implemented for the MPS device.", "MPS_FALLBACK", Evidence{
		Signal: int(syscall.SIGABRT), Log: "The operator 'aten::x' is not currently implemented for the MPS device.", Phase: "first"}},
	{"a check in a kernel that printed nothing", cell.ModelError, "AcceleratorError: CUDA error: device-side assert triggered", "beyond", Evidence{
		Exception: "torch.AcceleratorError", Message: "CUDA error: device-side assert triggered", Phase: "first"}},
	{"a check in a kernel that something else follows", cell.Timeout, "no answer within its time limit", "--timeout", Evidence{
		Killed: "timeout", Log: "a/Loss.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `t >= 0` failed."}},
	{"HTTP", cell.MissingWeights, "HfHubHTTPError: 503 Server Error", "--weights random", Evidence{Exception: "huggingface_hub.errors.HfHubHTTPError", Message: "503 Server Error", Phase: "download"}},
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tc := range unitEvidence {
		got := Classify(tc.Evidence)
		if got.Class != tc.class || got.Detail != tc.detail || !strings.Contains(got.Hint, tc.hint) {
			t.Errorf("%s: %s, %q, %q; want %s, %q, …%s…", tc.name, got.Class, got.Detail, got.Hint, tc.class, tc.detail, tc.hint)
		}
	}
}

// An exception that only wraps another gives way to it, and a class of the
// machine is never the model's.
func TestWrappersGiveWay(t *testing.T) {
	t.Parallel()
	const link = "\n\nThe above exception was the direct cause of the following exception:\n\n"
	outer := "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\ntorch.onnx.OnnxExporterError: failed"
	for cause, want := range map[string]cell.FailureClass{
		"ModuleNotFoundError: No module named 'onnx'":                   cell.MissingDependency,
		"OSError: [Errno 28] No space left on device":                   cell.Environment,
		"torch.OutOfMemoryError: CUDA out of memory.":                   cell.OutOfMemory,
		"ValueError: a thing of its own":                                cell.Export,
		"RuntimeError: Found no NVIDIA driver on your system. Please …": cell.Driver,
	} {
		got := Classify(Evidence{
			Exception: "torch.onnx.OnnxExporterError", Message: "failed", Phase: "convert",
			Traceback: "Traceback (most recent call last):\n  File \"y.py\", line 2, in g\n" + cause + link + outer,
		})
		if got.Class != want {
			t.Errorf("caused by %q: %s, want %s", cause, got.Class, want)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range cell.Classes() {
		f := Of(c, "something at /srv/models/x.bin")
		if f.Class != c || f.Detail != "something at …/x.bin" || !sentence(f.Hint) {
			t.Errorf("%+v", f)
		}
		if got, want := OfMachine(c), c == cell.Environment || c == cell.Driver || c == cell.Harness; got != want {
			t.Errorf("OfMachine(%s) = %t", c, got)
		}
	}
}

// Nobody is told to do what was done.
func TestOfCell(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		dtype    platform.DType
		has, not string
	}{
		{platform.FP32, "even in fp32", "--dtype"},
		{platform.FP16, "Run again with --dtype fp32", "even in fp32"},
		{platform.W4, "Run again with --dtype fp32", "even in fp32"},
	} {
		f := OfCell(cell.WrongOutput, "the output differs from cpu fp64 by 0.5", cell.Cell{Platform: platform.WebGPU, DType: tc.dtype})
		if !strings.Contains(f.Hint, tc.has) || strings.Contains(f.Hint, tc.not) {
			t.Errorf("%s: %q", tc.dtype, f.Hint)
		}
	}
}

// A hint sends nobody to a log that is empty.
func TestOfLog(t *testing.T) {
	t.Parallel()
	const detail = "ended by itself with status 0 and no result"
	if f := OfLog(cell.Crash, detail, "why\n"); f.Log != "why\n" || !strings.HasPrefix(f.Hint, "Read the log") {
		t.Errorf("with a log: %+v", f)
	}
	if f := OfLog(cell.Crash, detail, ""); f.Log != "" || strings.Contains(f.Hint, "the log") {
		t.Errorf("without a log: %+v", f)
	}
	for _, a := range advices {
		if strings.Contains(a.text, "the log") != (a.bare != "") || a.bare != "" && (!sentence(a.bare) || strings.Contains(a.bare, "log")) {
			t.Errorf("%q has no word for an empty log, or a bad one: %q", a.text, a.bare)
		}
	}
}

// Each class ends with a hint of its own, and each hint is a full sentence.
func TestHints(t *testing.T) {
	t.Parallel()
	own := map[cell.FailureClass]bool{}
	for _, a := range advices {
		if !sentence(a.text) {
			t.Errorf("%q is not a full sentence", a.text)
		}
		if own[a.class] {
			t.Errorf("%q comes after its class's own hint", a.text)
		}
		own[a.class] = own[a.class] || a.re == nil
		if strings.Contains(a.text, "${1}") != (a.re != nil && a.re.NumSubexp() > 0) {
			t.Errorf("%q and its pattern's groups do not fit", a.text)
		}
	}
	for _, c := range cell.Classes() {
		if !own[c] {
			t.Errorf("%s has no hint of its own", c)
		}
	}
}

func sentence(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(first) && strings.HasSuffix(s, ".") && strings.Count(s, " ") >= 5
}

// FuzzClassify feeds anything: there is always a class, a bounded detail in
// one line, a hint and a bounded log, all of it text.
func FuzzClassify(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s.Exception, strings.Join(s.Bases, " "), s.Message, s.Traceback, s.Phase, s.Signal, s.ExitStatus, s.Killed, s.Log)
	}
	f.Add("\xf8", "", "", "", "0", 6, 0, "", "0") // once came through as it was
	f.Fuzz(func(t *testing.T, exception, bases, message, traceback, phase string, signal, status int, killed, log string) {
		sound(t, Classify(Evidence{Exception: exception, Bases: strings.Fields(bases), Message: message, Traceback: traceback,
			Phase: phase, Signal: signal, ExitStatus: status, Killed: killed, Log: log}))
	})
}

func sound(t interface{ Errorf(string, ...any) }, f cell.Failure) {
	if !sentence(f.Hint) {
		t.Errorf("hint %q", f.Hint)
	}
	if n := utf8.RuneCountInString(f.Detail); n > maxDetail || strings.ContainsAny(f.Detail, "\n\r\x00") {
		t.Errorf("detail of %d: %q", n, f.Detail)
	}
	if len(f.Log) > MaxLog || !utf8.ValidString(f.Log) || !utf8.ValidString(f.Detail) {
		t.Errorf("log of %d bytes", len(f.Log))
	}
}

func TestAnythingIsClassified(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string) sample { return rapid.SampledFrom(all).Draw(t, name) }
		e := pick("type").Evidence
		e.Message, e.Traceback, e.Log = pick("message").Message, pick("traceback").Traceback, strings.Repeat(pick("log").Log+"\n", rapid.IntRange(0, 5).Draw(t, "times"))
		sound(t, Classify(e))
	})
}

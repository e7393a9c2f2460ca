package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/measure"
	"assay/internal/platform"
)

// The fixture is a sweep as two machines give it: a two-core cloud host and a
// box with an H200. Times and errors are of the size that such machines show;
// the drawn spread is fixed by its seed.
var (
	swept = time.Date(2026, 11, 14, 9, 30, 0, 0, time.UTC)
	cloud = cell.Host{ID: "c1a9e07b", OS: "Debian GNU/Linux 12", Kernel: "6.1.0", Arch: "amd64", CPU: "Intel Xeon Platinum 8481C", Cores: 2, MemoryBytes: 8_200_000_000, Instance: "c3-standard-4"}
	gpu   = cell.Host{ID: "9f30d2c4", OS: "Ubuntu 24.04", Kernel: "6.8.0", Arch: "amd64", CPU: "AMD EPYC 9654", Cores: 16, MemoryBytes: 137_400_000_000, Devices: []string{"NVIDIA H200 (141 GB)"}}
)

// sweep collects observations; n seeds what is drawn.
type sweep struct {
	list []matrix.Observation
	n    uint64
}

// subject is a model of the fixture: its family, its head, how long it takes on
// one of the cloud host's cores, and how large it is.
type subject struct {
	kind, family, task, class string
	cpuMS                     float64
	params                    int64
}

var subjects = []subject{
	{"bert", "encoder-only", "fill-mask", "BertForMaskedLM", 1.92, 246_660},
	{"distilbert", "encoder-only", "fill-mask", "DistilBertForMaskedLM", 1.11, 198_212},
	{"roberta", "encoder-only", "fill-mask", "RobertaForMaskedLM", 1.97, 247_301},
	{"gpt2", "decoder-only", "text-generation", "GPT2LMHeadModel", 2.05, 117_504},
	{"llama", "decoder-only", "text-generation", "LlamaForCausalLM", 2.61, 108_864},
	{"qwen3", "decoder-only", "text-generation", "Qwen3ForCausalLM", 3.02, 121_344},
	{"t5", "encoder-decoder", "text2text-generation", "T5ForConditionalGeneration", 4.40, 233_088},
	{"vit", "vision", "image-classification", "ViTForImageClassification", 1.75, 135_362},
	{"clip", "vision-text", "zero-shot-image-classification", "CLIPModel", 4.12, 271_105},
	{"whisper", "audio", "automatic-speech-recognition", "WhisperForConditionalGeneration", 6.31, 355_712},
	{"llava", "multimodal", "image-text-to-text", "LlavaForConditionalGeneration", 7.84, 412_288},
	{"mixtral", "mixture-of-experts", "text-generation", "MixtralForCausalLM", 5.13, 306_496},
	{"mamba", "state-space", "text-generation", "MambaForCausalLM", 21.7, 99_072},
}

// put adds a result of s on a target, changed as asked.
func (w *sweep) put(s subject, host cell.Host, target string, changes ...func(*cell.Result)) {
	w.n++
	c := cell.Cell{Type: s.kind, Family: s.family, Task: s.task, Class: s.class, Target: target}.Normal()
	r := cell.Result{
		Cell: c, SubjectHash: "s-" + s.kind, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Functional, Attempts: 1,
		Outputs:    []cell.Output{{Name: "logits", Shape: []int{1, 16, 200}, DType: "float32"}},
		Numerics:   &cell.Numerics{MaxAbs: new(2e-7), MaxRel: new(3.1e-7 * float64(1+w.n%4)), Tolerance: 1e-3, Reference: "cpu fp64", Pass: true},
		Parameters: s.params, StartedAt: swept.Add(time.Duration(w.n) * 7 * time.Second),
		PhasesMS: map[string]float64{"build": 42 + 9*s.cpuMS, "to_device": 1.4, "first": 3 * s.cpuMS},
		Memory:   &cell.Memory{HostBaselineBytes: bytesOf(441), HostPeakBytes: bytesOf(449 + int64(w.n%9))},
		Context:  cell.Context{Versions: map[string]string{"python": "3.12.1", "torch": "2.15.0", "transformers": "5.22.2"}, Threads: 2},
	}
	for _, f := range changes {
		f(&r)
	}
	r.Cell = r.Cell.Normal()
	r.Requested = cell.SettingsOf(r.Cell)
	if r.Verdict != cell.Unavailable {
		actual := r.Requested
		r.Actual = &actual
	}
	w.list = append(w.list, matrix.Observation{Result: r, Host: host.ID})
}

func bytesOf(mb int64) *int64 { n := mb * 1_000_000; return &n }

// bench times the cell: repeats differ by level, iterations are correlated.
func bench(ms float64, repeats int) func(*cell.Result) {
	return func(r *cell.Result) {
		random := rand.New(rand.NewPCG(uint64(len(r.Cell.Target)), uint64(ms*1e3)))
		samples := make([][]float64, repeats)
		for i := range samples {
			level, noise := ms*math.Exp(0.012*random.NormFloat64()), 0.0
			for range 64 {
				noise = 0.8*noise + 0.01*random.NormFloat64()
				samples[i] = append(samples[i], level*math.Exp(noise))
			}
		}
		s := measure.Summarise(samples)
		r.Timing = cell.Thorough
		r.Latency = &cell.Latency{Repeats: s.Repeats, N: s.N, MedianMS: s.Median, LoMS: s.Lo, HiMS: s.Hi, MinMS: s.Min, MaxMS: s.Max,
			P90MS: s.P90, P95MS: s.P95, P99MS: s.P99, CVWithin: s.CVWithin, CVBetween: s.CVBetween, Stable: s.Stable, Why: s.Why, SamplesMS: samples}
		r.Throughput = &cell.Throughput{Value: float64(r.Cell.Batch) * 1e3 / s.Median, Unit: "items_per_s"}
	}
}

func full(checkpoint, weights string) func(*cell.Result) {
	return func(r *cell.Result) {
		r.Cell.Size, r.Cell.Checkpoint, r.Cell.Weights = cell.Full, checkpoint, weights
		r.SubjectHash += "-full"
		r.PhasesMS["build"] = 1840
		r.Memory = &cell.Memory{HostBaselineBytes: bytesOf(441), HostPeakBytes: bytesOf(930)}
		r.Parameters = 109_514_298
	}
}

func dtype(d platform.DType) func(*cell.Result) { return func(r *cell.Result) { r.Cell.DType = d } }

func evidence(e cell.Evidence, note string) func(*cell.Result) {
	return func(r *cell.Result) {
		r.Evidence, r.Note = e, note
		if e != cell.Emulated {
			r.Numerics, r.Memory, r.PhasesMS = nil, nil, nil
		}
	}
}

func absent(why string) func(*cell.Result) {
	return func(r *cell.Result) {
		r.Verdict, r.Evidence, r.Note = cell.Unavailable, cell.None, why
		r.Numerics, r.Memory, r.PhasesMS, r.Outputs = nil, nil, nil, nil
	}
}

func fails(class cell.FailureClass, detail, hint string) func(*cell.Result) {
	return func(r *cell.Result) {
		r.Verdict, r.Failure = cell.Fails, &cell.Failure{Class: class, Detail: detail, Hint: hint, Log: "Traceback (most recent call last):\n  …\n" + detail}
		r.Numerics, r.Outputs = nil, nil
	}
}

func partial(note string) func(*cell.Result) {
	return func(r *cell.Result) { r.Verdict, r.Note = cell.Partial, note }
}

func onDevice(mb int64) func(*cell.Result) {
	return func(r *cell.Result) {
		r.Memory.DevicePeakBytes, r.Memory.FrameworkPeakBytes = bytesOf(mb+480), bytesOf(mb)
		r.Numerics.Reference = "cpu fp32"
		r.Context.Versions["driver"] = "580.65.06"
	}
}

// fixture is the whole sweep.
func fixture() []matrix.Observation {
	w := &sweep{}
	for _, s := range subjects {
		w.tiny(s)
	}
	bert, gpt2, whisper := subjects[0], subjects[3], subjects[9]
	w.put(bert, cloud, "cpu", full("bert-base-uncased", cell.Random), bench(96.4, 6))
	w.put(bert, gpu, "cpu", full("bert-base-uncased", cell.Hub), bench(18.2, 6))
	w.put(bert, gpu, "cuda", full("bert-base-uncased", cell.Hub), bench(3.11, 6), onDevice(458))
	w.put(bert, gpu, "cuda", full("bert-base-uncased", cell.Hub), dtype(platform.FP16), bench(2.84, 6), onDevice(231))
	w.put(gpt2, gpu, "cpu", full("gpt2", cell.Random), bench(24.9, 6))
	w.put(gpt2, gpu, "cuda", full("gpt2", cell.Random), bench(4.42, 6), onDevice(522))
	w.put(whisper, cloud, "cpu", full("whisper-large-v3", cell.Random), fails(cell.OutOfMemory,
		"the model needs 6.2 GB and 5.1 GB are free", "take a smaller checkpoint, --dtype bf16, or a host with more memory"))
	return w.list
}

// tiny is what both machines say of a type.
func (w *sweep) tiny(s subject) {
	w.put(s, cloud, "cpu", bench(s.cpuMS, 6))
	w.put(s, gpu, "cpu", bench(s.cpuMS*0.62, 6))
	w.put(s, cloud, "cuda", absent("no NVIDIA device: nothing in /proc/driver/nvidia"))
	w.put(s, gpu, "rocm", absent("no AMD GPU: /dev/kfd is missing"))
	switch s.kind {
	case "mamba":
		w.put(s, gpu, "cuda", fails(cell.MissingDependency, "ImportError: mamba_ssm is not installed", "pip install mamba-ssm into the environment, or run on the CPU"))
		w.put(s, cloud, "mps", evidence(cell.Derived, "aten::_cumsum_helper has no MPS kernel"), func(r *cell.Result) { r.Verdict = cell.Partial })
	case "mixtral":
		w.put(s, gpu, "cuda", bench(3.9, 6), onDevice(31))
		w.put(s, gpu, "cuda", dtype(platform.FP16), fails(cell.WrongOutput, "max error 0.31 of the largest value, limit 0.01", "run in fp32 or bf16"), onlyDevice)
	default:
		w.put(s, gpu, "cuda", bench(0.4+s.cpuMS*0.21, 6), onDevice(19))
		w.put(s, gpu, "cuda", dtype(platform.FP16), onDevice(11))
		w.put(s, cloud, "mps", evidence(cell.Derived, "all operators have MPS kernels"))
	}
	switch s.family {
	case "encoder-only", "vision":
		w.put(s, cloud, "openvino", bench(s.cpuMS*0.58, 6))
		w.put(s, cloud, "qnn:sm8650", dtype(platform.FP16), evidence(cell.Emulated, "on Qualcomm's HTP emulator"), bench(410, 3))
	case "audio":
		w.put(s, cloud, "openvino", partial("2 of 214 nodes ran on the CPU plugin's reference implementation"))
		w.put(s, cloud, "qnn:sm8650", dtype(platform.FP16), fails(cell.UnsupportedOperator, "com.microsoft.FusedConv is not supported by the HTP backend", "export without fusions, or leave this node to the CPU"), evidence(cell.Emulated, ""))
	case "multimodal":
		w.put(s, cloud, "webgpu", fails(cell.Environment, "the browser closed its connection", "run again; if it stays, see assay doctor"))
	}
}

func onlyDevice(r *cell.Result) { r.Memory.DevicePeakBytes = bytesOf(511) }

// fixtureModels are rows that are shown though nobody ran them.
func fixtureModels() []matrix.Model {
	return []matrix.Model{{Type: "stable-diffusion", Family: "diffusion"}, {Type: "bert", Family: "encoder-only", Priority: "key"}}
}

func fixtureDocument(change func(*Options)) Document {
	o := Options{Now: swept.Add(26 * time.Hour), Assay: "0.1.0", Models: fixtureModels(), Hosts: []cell.Host{cloud, gpu}}
	if change != nil {
		change(&o)
	}
	return NewDocument(fixture(), o)
}

func manyModels(n int) []matrix.Model {
	models := make([]matrix.Model, n)
	for i := range models {
		models[i] = matrix.Model{Type: fmt.Sprintf("type-%03d", i), Family: "other"}
	}
	return models
}

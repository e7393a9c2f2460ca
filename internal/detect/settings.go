package detect

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/platform"
)

// reasons puts the reason of each setting into one sentence.
func reasons(s Settings, dtype, batch, threads string) *Settings {
	s.Why = fmt.Sprintf("%s: %s; batch %d: %s; %s: %s", s.DType, dtype, s.Batch, batch, count(s.Threads, "thread"), threads)
	return &s
}

// cpuExtras are features that make a smaller dtype worth trying, best first.
var cpuExtras = []struct{ feature, says string }{
	{"amx_bf16", "AMX makes bf16 worth trying"},
	{"avx512_bf16", "AVX-512 BF16 makes bf16 worth trying"},
	{"sme", "SME may speed bf16 up"},
	{"bf16", "the BF16 instructions make bf16 worth trying"},
}

func cpuSettings(c CPU) *Settings {
	dtype := "the reference that every engine is compared with"
	for _, row := range cpuExtras {
		if c.Has(row.feature) {
			dtype += "; " + row.says
			break
		}
	}
	n, why := cpuThreads(c)
	return reasons(Settings{DType: platform.FP32, Batch: 1, Threads: n}, dtype, "one item fills the cores", why)
}

// cpuThreads is one for each physical core that may be used: a second thread
// on a core shares its vector units.
func cpuThreads(c CPU) (int, string) {
	switch {
	case c.Usable < 1:
		return 1, "the number of cores is unknown"
	case c.Quota != nil && c.Usable < c.Cores:
		return c.Usable, fmt.Sprintf("the control group allows %s CPUs of %d cores", trimFloat(*c.Quota), c.Cores)
	case c.Affinity < c.CPUs:
		return c.Usable, fmt.Sprintf("the cores that the affinity allows, of %d", c.Cores)
	}
	return c.Usable, "one for each physical core"
}

// hostThreads is for devices that leave little to the CPU.
func hostThreads(c CPU) (int, string) {
	n, _ := cpuThreads(c)
	return n, "what runs on the host may use its cores"
}

// cudaDTypes is by compute capability, first match.
var cudaDTypes = []struct {
	from, to int
	dtype    platform.DType
	why      string
}{
	{80, 1 << 20, platform.BF16, "compute capability 8.0 and later has it at full rate, with the range of fp32"},
	{70, 79, platform.FP16, "tensor cores take fp16, and bf16 comes with 8.0"},
	{61, 61, platform.FP32, "compute capability 6.1 does fp16 at 1/64 of the rate"},
	{53, 69, platform.FP16, "fp16 is at full rate from compute capability 5.3, and bf16 comes with 8.0"},
	{0, 52, platform.FP32, "fp16 comes with compute capability 5.3"},
}

func cudaSettings(capability []int, memory *int64, c CPU) *Settings {
	if len(capability) != 2 {
		return nil
	}
	cc := capability[0]*10 + capability[1]
	for _, row := range cudaDTypes {
		if cc >= row.from && cc <= row.to {
			return onDevice(row.dtype, row.why, memory, c)
		}
	}
	return nil
}

// batches is by device memory in GiB: what a base-sized model's activations
// leave room for.
var batches = []struct {
	gib   int64
	batch int
}{{64, 32}, {20, 16}, {10, 8}, {6, 4}, {0, 1}}

func batchFor(memory *int64) (int, string) {
	if memory == nil {
		return 1, "the device's memory is unknown"
	}
	for _, row := range batches {
		if *memory>>30 >= row.gib {
			return row.batch, Bytes(*memory) + " of device memory"
		}
	}
	return 1, "little device memory"
}

func onDevice(dtype platform.DType, why string, memory *int64, c CPU) *Settings {
	batch, whyBatch := batchFor(memory)
	threads, whyThreads := hostThreads(c)
	return reasons(Settings{DType: dtype, Batch: batch, Threads: threads}, why, whyBatch, whyThreads)
}

func rocmSettings(d torchDevice, c CPU) *Settings {
	if d.Half != nil && *d.Half {
		return onDevice(platform.FP16, "half precision was checked on the device", d.MemoryBytes, c)
	}
	return onDevice(platform.FP32, "half precision did not pass its check on the device", d.MemoryBytes, c)
}

func mpsSettings(memory *int64, c CPU) *Settings {
	return onDevice(platform.FP16, "the GPU takes fp16 and it halves what the shared memory must move", memory, c)
}

func openvinoSettings(id string, capabilities []string, memory *int64, c CPU) *Settings {
	kind, _, _ := strings.Cut(id, ".")
	switch {
	case kind == "NPU":
		threads, why := hostThreads(c)
		return reasons(Settings{DType: platform.FP16, Batch: 1, Threads: threads}, "the NPU computes in fp16 and int8", "the NPU compiles for fixed shapes", why)
	case kind == "GPU" && slices.Contains(capabilities, "fp16"):
		return onDevice(platform.FP16, "the GPU lists FP16", memory, c)
	case kind == "CPU":
		why := "asked for by name: OpenVINO uses bf16 on its own where the CPU has it"
		threads, whyThreads := cpuThreads(c)
		return reasons(Settings{DType: platform.FP32, Batch: 1, Threads: threads}, why, "one item fills the cores", whyThreads)
	}
	return onDevice(platform.FP32, "no smaller dtype is listed", memory, c)
}

// qnnSettings is by what the tensor processor computes in.
func qnnSettings(row soc) *Settings {
	const whyBatch, whyThreads = "the NPU compiles for fixed shapes", "the NPU does the work"
	if !row.FP16 {
		return reasons(Settings{DType: platform.INT8, Batch: 1, Threads: 1}, "this HTP has no fp16", whyBatch, whyThreads)
	}
	return reasons(Settings{DType: platform.FP16, Batch: 1, Threads: 1}, "the HTP computes in fp16 without calibration", whyBatch, whyThreads)
}

// webGPUSettings takes fp16 only where a real adapter has it: in software it is
// fp32 with conversions.
func webGPUSettings(b BrowserAnswer, c CPU) *Settings {
	const whyBatch = "a page shares the adapter with the browser"
	threads, whyThreads := hostThreads(c)
	dtype, why := platform.FP32, "the adapter has no shader-f16"
	switch {
	case b.Software():
		why = "a software adapter has nothing to gain from fp16"
	case slices.Contains(b.WebGPU.Features, "shader-f16"):
		dtype, why = platform.FP16, "the adapter has shader-f16"
	}
	return reasons(Settings{DType: dtype, Batch: 1, Threads: threads}, why, whyBatch, whyThreads)
}

func webNNSettings(d WebNNDevice, c CPU) *Settings {
	threads, whyThreads := hostThreads(c)
	dtype, why := platform.FP32, "what the processor computes in"
	if d.Type != "cpu" && slices.Contains(d.Matmul, "float16") {
		dtype, why = platform.FP16, "the device takes float16"
	}
	return reasons(Settings{DType: dtype, Batch: 1, Threads: threads}, why, "graphs have fixed shapes", whyThreads)
}

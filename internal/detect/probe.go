package detect

import (
	"assay/internal/instructions"
	"assay/internal/platform"
)

// Probe finds one platform. Absence is never an error: a probe that cannot
// read something says less, and says so.
type Probe interface {
	// Platform is the platform that the probe is for.
	Platform() platform.Name
	// Look sees what files tell. It must be quick and load no vendor library.
	Look(m *Machine) Seen
	// Judge weighs what was seen and what the children answered. It fills in
	// everything but the rule for platforms without a runner.
	Judge(s Sighting, a Answers) Platform
}

// Probes returns the probes of the eight platforms, in their fixed order.
func Probes() []Probe {
	return []Probe{
		cpuProbe{}, cudaProbe{}, rocmProbe{}, mpsProbe{}, openvinoProbe{}, qnnProbe{},
		webProbe{platform.WebNN}, webProbe{platform.WebGPU},
	}
}

// Seen is what the first pass saw of a platform.
type Seen struct {
	// Devices holds the hardware that was seen, without settings, hidden
	// devices left out.
	Devices  []Device
	Evidence []Evidence
	// Hardware names every device, hidden ones too.
	Hardware []string
	// Blind says that this pass cannot see the hardware on such a system, so
	// that no devices means nothing.
	Blind bool
	// Missing is what stands between the hardware and its use, as far as
	// files tell ("no /dev/nvidia0"), and Hint what to do about it.
	Missing, Hint string
	// Driver is the kernel driver's version, "" where unknown.
	Driver string
}

func (s *Seen) note(source, detail string) {
	s.Evidence = append(s.Evidence, Evidence{source, detail})
}

// Sighting is the whole first pass.
type Sighting struct {
	OS, Arch     string
	Kernel       string // or, on macOS, the product version
	CPU          CPU
	Processor    instructions.Processor // as far as /proc/cpuinfo tells
	Memory       Memory
	Instance     string
	Platforms    map[platform.Name]Seen
	Accelerators []Accelerator
	Browsers     []Browser
	Environment  map[string]string
}

// Look does the first pass.
func Look(m *Machine) Sighting {
	s := Sighting{
		OS: m.OS, Arch: m.Arch,
		Kernel:       lookKernel(m),
		CPU:          lookCPU(m),
		Processor:    instructions.Parse(m.textOf("proc/cpuinfo")),
		Memory:       lookMemory(m),
		Instance:     lookInstance(m),
		Accelerators: lookAccelerators(m),
		Browsers:     Browsers(m),
		Environment:  lookEnvironment(m),
		Platforms:    map[platform.Name]Seen{},
	}
	for _, p := range Probes() {
		s.Platforms[p.Platform()] = p.Look(m)
	}
	return s
}

// variables are those that change what is seen or used, and on which platforms;
// those of none are for other accelerators.
var variables = []struct {
	name      string
	platforms []platform.Name
}{
	{"CUDA_VISIBLE_DEVICES", []platform.Name{platform.CUDA, platform.ROCm}},
	{"CUDA_DEVICE_ORDER", []platform.Name{platform.CUDA}},
	{"NVIDIA_VISIBLE_DEVICES", []platform.Name{platform.CUDA}},
	{"HIP_VISIBLE_DEVICES", []platform.Name{platform.ROCm}},
	{"ROCR_VISIBLE_DEVICES", []platform.Name{platform.ROCm}},
	{"HSA_OVERRIDE_GFX_VERSION", []platform.Name{platform.ROCm}},
	{"ZE_AFFINITY_MASK", []platform.Name{platform.OpenVINO, platform.XPU}},
	{"ONEAPI_DEVICE_SELECTOR", []platform.Name{platform.OpenVINO}},
	{BrowsersVariable, []platform.Name{platform.WebNN, platform.WebGPU}},
	{"HABANA_VISIBLE_DEVICES", nil},
	{"ASCEND_RT_VISIBLE_DEVICES", nil},
	{"PJRT_DEVICE", nil},
	{"TPU_VISIBLE_CHIPS", nil},
	{"NEURON_RT_VISIBLE_CORES", nil},
	{"OMP_NUM_THREADS", []platform.Name{platform.CPU, platform.OpenVINO}},
	{"MKL_NUM_THREADS", []platform.Name{platform.CPU}},
	{instructions.Variable, []platform.Name{platform.CPU, platform.OpenVINO}},
	{"PYTORCH_MPS_HIGH_WATERMARK_RATIO", []platform.Name{platform.MPS}},
}

func lookEnvironment(m *Machine) map[string]string {
	set := map[string]string{}
	for _, row := range variables {
		if v, ok := m.env(row.name); ok {
			set[row.name] = v
		}
	}
	return set
}

func lookKernel(m *Machine) string {
	switch m.OS {
	case "darwin":
		return m.command("sw_vers", "-productVersion")
	case "linux":
		return m.textOf("proc/sys/kernel/osrelease")
	}
	return m.Native.Kernel
}

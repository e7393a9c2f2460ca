package detect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/internal/platform"
)

type cudaProbe struct{}

func (cudaProbe) Platform() platform.Name { return platform.CUDA }

func (cudaProbe) Look(m *Machine) Seen {
	s := Seen{Blind: m.OS == "windows" || (m.OS == "linux" && !m.exists("sys/bus/pci"))}
	switch m.OS {
	case "linux":
		lookNVIDIA(m, &s)
	case "windows":
		if m.exists("Windows/System32/nvcuda.dll") {
			s.note("file", "the NVIDIA driver's nvcuda.dll is installed")
		}
	case "darwin":
		s.note("system", "macOS has no CUDA")
	}
	return s
}

func lookNVIDIA(m *Machine, s *Seen) {
	cards := m.gpus(vendorNVIDIA)
	for _, d := range cards {
		s.note("pci", pciName(d, "NVIDIA GPU")+", "+d.String())
	}
	s.Driver = nvidiaDriver(m.textOf("proc/driver/nvidia/version"))
	if s.Driver != "" {
		s.note("/proc/driver/nvidia", "driver "+s.Driver)
	}
	nodes := m.glob("dev/nvidia[0-9]*")
	if len(nodes) > 0 {
		s.note("/dev", fmt.Sprintf("%s, first /%s", count(len(nodes), "NVIDIA device node"), nodes[0]))
	}
	wsl := m.exists("dev/dxg") && m.exists("usr/lib/wsl/lib/libcuda.so.1")
	if wsl {
		s.note("/dev", "the GPU of Windows is reached through /dev/dxg")
	}
	tegra := lookTegra(m)
	devices := nvidiaDevices(m, cards)
	if tegra != "" {
		s.note("device-tree", tegra)
		devices = append(devices, visible{Device: Device{Name: tegra}})
	}
	if tegra == "" && !wsl {
		s.Missing, s.Hint = nvidiaMissing(len(cards) > 0 || len(devices) > 0, len(nodes) > 0, s.Driver)
	}
	s.hide(devices, lookHiding(m, "CUDA_VISIBLE_DEVICES"))
}

// nvidiaMissing says which part of the way to a card is not there.
func nvidiaMissing(card, node bool, driver string) (missing, hint string) {
	switch {
	case node || !card:
		return "", ""
	case driver == "":
		return "an NVIDIA GPU is on the bus, but its driver is not loaded here and there is no /dev/nvidia0",
			"install the NVIDIA driver; inside a container, pass the devices to it (docker run --gpus all, with the NVIDIA Container Toolkit)"
	}
	return "an NVIDIA GPU and its driver are there, but there is no /dev/nvidia0",
		"inside a container, pass the devices to it (docker run --gpus all); otherwise run nvidia-modprobe"
}

var driverVersion = regexp.MustCompile(`Kernel Module(?: for \S+)?\s+([0-9]+(?:\.[0-9]+)+)`)

// nvidiaDriver reads the version out of /proc/driver/nvidia/version.
func nvidiaDriver(text string) string {
	if match := driverVersion.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

// nvidiaDevices prefers the driver's own names, in bus order, and takes the
// bus's where the driver does not tell.
func nvidiaDevices(m *Machine, cards []pciDevice) []visible {
	var devices []visible
	for _, slot := range m.list("proc/driver/nvidia/gpus") {
		f := fields(m.textOf("proc/driver/nvidia/gpus/" + slot + "/information"))
		if f["Model"] != "" {
			devices = append(devices, visible{Device{Name: f["Model"]}, f["GPU UUID"]})
		}
	}
	if len(devices) > 0 {
		return devices
	}
	for _, d := range cards {
		devices = append(devices, visible{Device: Device{Name: pciName(d, "NVIDIA GPU")}})
	}
	return devices
}

// lookTegra recognises Jetson boards, whose GPU is on no bus.
func lookTegra(m *Machine) string {
	if !strings.Contains(m.textOf("proc/device-tree/compatible"), "nvidia,tegra") {
		return ""
	}
	return orUnnamed(m.textOf("proc/device-tree/model"), "NVIDIA Tegra")
}

func (cudaProbe) Judge(s Sighting, a Answers) Platform {
	seen := s.Platforms[platform.CUDA]
	p := Platform{Platform: platform.CUDA, Devices: seen.Devices, Evidence: seen.Evidence}
	nvml, ok := p.ask(a, "nvml", "the NVIDIA management library")
	var n nvmlAnswer
	if ok && nvml.into(&n) {
		p.note("nvml", fmt.Sprintf("driver %s, CUDA up to %s, %s", n.Driver, n.CUDA, count(len(n.Devices), "device")))
		p.Seen = len(n.Devices) > 0
		mergeNVML(&p, s, n)
	}
	blind := seen.Blind && nvml.Absent == ""
	if len(p.Devices) == 0 && seen.Missing == "" && !blind && len(n.Devices) == 0 {
		return p.absent("no NVIDIA GPU was seen", "CUDA needs an NVIDIA GPU in this machine")
	}
	p.needTorch(a, func(t torchAnswer) { judgeCUDATorch(&p, s, t, n) })
	if p.Status != Present && seen.Missing != "" {
		p.absentFor(seen.Missing, seen.Hint)
	}
	p.noteBlind(s)
	return p
}

// mergeNVML fills in memory and capability where no engine does. NVML knows
// nothing of the variable that hides or reorders devices: with it set, only
// the engine can tell which is which.
func mergeNVML(p *Platform, s Sighting, n nvmlAnswer) {
	if _, set := s.Environment["CUDA_VISIBLE_DEVICES"]; set || len(p.Devices) != len(n.Devices) {
		return
	}
	for i, d := range n.Devices {
		p.Devices[i].Name = orUnnamed(d.Name, p.Devices[i].Name)
		p.Devices[i].MemoryBytes = d.MemoryBytes
		p.Devices[i].Features = cudaFeatures(d.Capability, nil)
		p.Devices[i].Settings = cudaSettings(d.Capability, d.MemoryBytes, s.CPU)
	}
}

func judgeCUDATorch(p *Platform, s Sighting, t torchAnswer, n nvmlAnswer) {
	switch {
	case t.HIP != "":
		p.absentFor("torch "+t.Version+" is a ROCm build", "install a CUDA build of torch, or name its Python with --python")
	case t.CUDA == "":
		p.absentFor("torch "+t.Version+" was built without CUDA", "install a CUDA build of torch, or name its Python with --python")
	case len(t.Devices) == 0:
		p.absentFor(orUnnamed(t.CUDAError, "torch sees no CUDA device"), driverHint(t, n))
	default:
		p.note("torch", fmt.Sprintf("CUDA %s, cuDNN %s, %s", t.CUDA, orUnnamed(t.CuDNN, "not built in"), count(len(t.Devices), "device")))
		p.Status, p.Devices = Present, cudaDevices(t, s.CPU)
	}
}

func driverHint(t torchAnswer, n nvmlAnswer) string {
	if n.Driver != "" {
		return fmt.Sprintf("torch needs CUDA %s and driver %s gives up to %s: update the driver, or install a torch for an older CUDA", t.CUDA, n.Driver, n.CUDA)
	}
	return "check that the driver works (nvidia-smi) and that no variable or container hides the devices"
}

func cudaDevices(t torchAnswer, c CPU) []Device {
	devices := []Device{}
	for _, d := range t.Devices {
		devices = append(devices, Device{
			ID: strconv.Itoa(d.Index), Name: d.Name, MemoryBytes: d.MemoryBytes,
			Features: cudaFeatures(d.Capability, d.BF16),
			Settings: cudaSettings(d.Capability, d.MemoryBytes, c),
		})
	}
	return devices
}

// cudaFeatures names what a compute capability brings.
func cudaFeatures(capability []int, bf16 *bool) []string {
	if len(capability) != 2 {
		return nil
	}
	cc := capability[0]*10 + capability[1]
	features := []string{fmt.Sprintf("sm_%d", cc)}
	rows := []struct {
		from int
		name string
	}{{53, "fp16"}, {70, "tensor cores"}, {80, "bf16"}, {80, "tf32"}, {89, "fp8"}, {100, "fp4"}}
	for _, r := range rows {
		if cc >= r.from && (r.name != "bf16" || bf16 == nil || *bf16) {
			features = append(features, r.name)
		}
	}
	return features
}

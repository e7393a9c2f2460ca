package detect

import (
	"fmt"
	"strconv"

	"assay/internal/platform"
)

type rocmProbe struct{}

func (rocmProbe) Platform() platform.Name { return platform.ROCm }

// Look sees AMD GPUs the driver's way: the bus, the compute driver's topology
// (KFD), the render nodes (DRM). PyTorch's way comes with its answer.
func (rocmProbe) Look(m *Machine) Seen {
	s := Seen{Blind: m.OS == "windows" || (m.OS == "linux" && !m.exists("sys/bus/pci"))}
	if m.OS != "linux" {
		if m.OS == "windows" && m.exists("Windows/System32/amdhip64.dll") {
			s.note("file", "AMD's amdhip64.dll is installed")
		}
		return s
	}
	cards := m.gpus(vendorAMD)
	for _, d := range cards {
		s.note("pci", pciName(d, "AMD GPU")+", "+d.String())
	}
	if s.Driver = m.textOf("sys/module/amdgpu/version"); s.Driver != "" {
		s.note("amdgpu", "driver "+s.Driver)
	}
	if v := m.textOf("opt/rocm/.info/version"); v != "" {
		s.note("file", "ROCm "+v+" in /opt/rocm")
	}
	nodes := lookKFD(m)
	for _, n := range nodes {
		s.note("kfd", fmt.Sprintf("%s, %d compute units, %s, at %s", n.arch, n.units, Bytes(n.memoryBytes), n.slot))
	}
	s.Missing, s.Hint = rocmMissing(m, len(cards), nodes)
	s.hide(rocmDevices(m, cards, nodes), lookHiding(m, "ROCR_VISIBLE_DEVICES"), rocmHiding(m))
	return s
}

// rocmHiding is the second variable: HIP's own, or, when that is not set,
// CUDA's, which HIP honours too.
func rocmHiding(m *Machine) hiding {
	if h := lookHiding(m, "HIP_VISIBLE_DEVICES"); h.set {
		return h
	}
	return lookHiding(m, "CUDA_VISIBLE_DEVICES")
}

func rocmMissing(m *Machine, cards int, nodes []kfdNode) (missing, hint string) {
	switch {
	case cards == 0 && len(nodes) == 0:
		return "", ""
	case !m.exists("dev/kfd"):
		return "an AMD GPU is on the bus, but there is no /dev/kfd",
			"install AMD's amdgpu driver with KFD; inside a container, pass the devices to it (docker run --device /dev/kfd --device /dev/dri)"
	case len(nodes) == 0:
		return "an AMD GPU is on the bus, but the compute driver (KFD) lists none",
			"check that the GPU is supported by ROCm and that the amdgpu module is loaded"
	}
	for _, n := range nodes {
		if n.render != "" && m.exists(n.render) {
			return "", ""
		}
	}
	return "the render nodes of the AMD GPUs (/dev/dri/renderD*) are not there",
		"inside a container, pass the devices to it (docker run --device /dev/kfd --device /dev/dri)"
}

// rocmDevices takes the compute driver's nodes, which the runtime numbers, and
// the bus's cards where that driver lists none.
func rocmDevices(m *Machine, cards []pciDevice, nodes []kfdNode) []visible {
	var devices []visible
	for _, n := range nodes {
		name := m.textOf("sys/bus/pci/devices/" + n.slot + "/product_name")
		d := Device{Name: orUnnamed(name, orUnnamed(pciNames[n.id], "AMD GPU ["+n.id+"]")),
			MemoryBytes: positive(n.memoryBytes), Features: []string{n.arch}}
		devices = append(devices, visible{d, n.uuid})
	}
	if len(devices) > 0 {
		return devices
	}
	for _, c := range cards {
		memory := int64(parseUint(m.textOf("sys/bus/pci/devices/" + c.slot + "/mem_info_vram_total")))
		devices = append(devices, visible{Device: Device{Name: pciName(c, "AMD GPU"), MemoryBytes: positive(memory)}})
	}
	return devices
}

func (rocmProbe) Judge(s Sighting, a Answers) Platform {
	seen := s.Platforms[platform.ROCm]
	p := Platform{Platform: platform.ROCm, Devices: seen.Devices, Evidence: seen.Evidence}
	if len(p.Devices) == 0 && seen.Missing == "" && !seen.Blind {
		return p.absent("no AMD GPU was seen", "ROCm needs an AMD GPU and Linux or Windows")
	}
	p.needTorch(a, func(t torchAnswer) { judgeROCmTorch(&p, s, t) })
	if p.Status != Present && seen.Missing != "" {
		p.absentFor(seen.Missing, seen.Hint)
	}
	p.noteBlind(s)
	return p
}

func judgeROCmTorch(p *Platform, s Sighting, t torchAnswer) {
	if t.HIP == "" {
		p.absentFor("torch "+t.Version+" is not a ROCm build", "on a machine with an AMD GPU, install a ROCm build of torch in a Python of your own and name it with --python")
		return
	}
	if len(t.Devices) == 0 {
		p.absentFor(orUnnamed(t.CUDAError, "torch sees no ROCm device"), "check that rocminfo lists the GPU and that your user may open /dev/kfd (group render)")
		return
	}
	p.note("torch", fmt.Sprintf("HIP %s behind torch's cuda interface, %s", t.HIP, count(len(t.Devices), "device")))
	p.Status, p.Devices = Present, []Device{}
	for _, d := range t.Devices {
		p.note("torch", halfDetail(d))
		p.Devices = append(p.Devices, Device{ID: strconv.Itoa(d.Index), Name: d.Name, MemoryBytes: d.MemoryBytes,
			Features: rocmFeatures(d), Settings: rocmSettings(d, s.CPU)})
	}
}

func halfDetail(d torchDevice) string {
	switch {
	case d.Half == nil:
		return fmt.Sprintf("device %d: half precision was not checked", d.Index)
	case *d.Half:
		return fmt.Sprintf("device %d: a product in half precision was right", d.Index)
	}
	return fmt.Sprintf("device %d: half precision failed: %s", d.Index, orUnnamed(d.HalfError, "wrong values"))
}

func rocmFeatures(d torchDevice) []string {
	features := []string{}
	if d.Arch != "" {
		features = append(features, d.Arch)
	}
	if d.Half != nil && *d.Half {
		features = append(features, "fp16")
	}
	if d.BF16 != nil && *d.BF16 {
		features = append(features, "bf16")
	}
	return features
}

package detect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// host makes the fingerprint. It uses only the first pass, and of that only
// what stays: an update of the kernel or a variable leaves the host the same;
// other cores, memory or cards make another one.
func host(s Sighting) cell.Host {
	h := cell.Host{
		OS: s.OS, Kernel: s.Kernel, Arch: s.Arch, CPU: s.CPU.Model,
		Cores: s.CPU.Usable, MemoryBytes: s.Memory.Usable, Instance: s.Instance,
	}
	for _, name := range []platform.Name{platform.CUDA, platform.ROCm, platform.MPS, platform.WebGPU} {
		h.Devices = append(h.Devices, s.Platforms[name].Hardware...)
	}
	for _, d := range s.Platforms[platform.OpenVINO].Devices {
		if d.ID != "CPU" {
			h.Devices = append(h.Devices, d.Name)
		}
	}
	for _, a := range s.Accelerators {
		if a.Kind != "npu" || a.Note != viaOpenVINO { // those stand above
			h.Devices = append(h.Devices, a.Name)
		}
	}
	h.ID = fingerprint(h)
	if s.CPU.Model != "" || s.Memory.Total > 0 { // a guest's browser tells too little to know its machine again
		h.Machine = machineOf(s, h.Devices)
	}
	return h
}

// machineOf are the facts of the whole machine, whatever a container may use of it.
func machineOf(s Sighting, devices []string) *cell.Machine {
	m := &cell.Machine{
		System: s.OS + "/" + s.Arch, CPU: s.CPU.Model, CPUs: s.CPU.CPUs, MemoryGiB: cell.MemoryClass(s.Memory.Total),
		Devices: slices.Sorted(slices.Values(devices)),
	}
	for _, name := range []platform.Name{platform.CUDA, platform.ROCm} {
		if d := s.Platforms[name].Driver; d != "" {
			m.Driver = string(name) + " " + d
		}
	}
	return m
}

func fingerprint(h cell.Host) string {
	facts := struct {
		OS, Arch, CPU string
		Cores         int
		GiB           int64 // the kernel's own share varies by megabytes
		Instance      string
		Devices       []string
	}{h.OS, h.Arch, h.CPU, h.Cores, (h.MemoryBytes + 1<<29) >> 30, h.Instance, h.Devices}
	data, err := json.Marshal(facts)
	if err != nil {
		return "" // strings and numbers always marshal
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

package detect

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/platform"
)

type openvinoProbe struct{}

func (openvinoProbe) Platform() platform.Name { return platform.OpenVINO }

// Look lists what OpenVINO could drive: any CPU, Intel's GPUs and NPUs.
func (openvinoProbe) Look(m *Machine) Seen {
	s := Seen{Blind: m.OS == "windows"}
	c := lookCPU(m)
	s.Devices = []Device{{ID: "CPU", Name: orUnnamed(c.Model, c.Arch+" processor"), MemoryBytes: positive(lookMemory(m).Usable)}}
	render := m.glob("dev/dri/renderD*")
	for i, d := range m.gpus(vendorIntel) {
		s.note("pci", pciName(d, "Intel GPU")+", "+d.String())
		s.Devices = append(s.Devices, Device{ID: indexed("GPU", i), Name: pciName(d, "Intel GPU")})
		if len(render) == 0 {
			s.note("/dev", "no /dev/dri/renderD*: the GPU cannot be opened here")
		}
	}
	for i, d := range intelNPUs(m) {
		s.note("pci", accelerators[d.id()].name+", "+d.String())
		s.Devices = append(s.Devices, Device{ID: indexed("NPU", i), Name: accelerators[d.id()].name})
		if len(m.glob("dev/accel/accel*")) == 0 {
			s.note("/dev", "no /dev/accel/accel*: the NPU cannot be opened here")
		}
	}
	for _, r := range lookRetired(m) {
		s.note(r.Source, r.Name+": "+r.Note)
	}
	return s
}

func indexed(kind string, i int) string {
	if i == 0 {
		return kind
	}
	return fmt.Sprintf("%s.%d", kind, i)
}

func intelNPUs(m *Machine) []pciDevice {
	var found []pciDevice
	for _, d := range m.scanPCI() {
		if d.vendor == vendorIntel && accelerators[d.id()].kind == "npu" {
			found = append(found, d)
		}
	}
	return found
}

// retired are devices whose OpenVINO plug-in is gone, with the last version
// that had it.
var retired = map[string]Accelerator{
	"usb 03e7:2150": {"vpu", "Intel Movidius Neural Compute Stick", "usb", retiredMyriad2},
	"usb 03e7:2485": {"vpu", "Intel Neural Compute Stick 2 (Myriad X)", "usb", retiredMyriad},
	"usb 03e7:f63b": {"vpu", "Intel Neural Compute Stick 2 (Myriad X, booted)", "usb", retiredMyriad},
	"pci 8086:09c4": {"fpga", "Intel Programmable Acceleration Card with Arria 10 GX FPGA", "pci", retiredFPGA},
}

const (
	retiredMyriad2 = "the MYRIAD plug-in for Myriad 2 was last in OpenVINO 2020.3 LTS"
	retiredMyriad  = "the MYRIAD and HDDL plug-ins were last in OpenVINO 2022.3 LTS"
	retiredFPGA    = "the FPGA plug-in was last in OpenVINO 2020.4 (long-term: 2020.3 LTS)"
)

func lookRetired(m *Machine) []Accelerator {
	var found []Accelerator
	for _, name := range m.list("sys/bus/usb/devices") {
		dir := "sys/bus/usb/devices/" + name + "/"
		if vendor := m.hex(dir + "idVendor"); vendor == "03e7" {
			if a, ok := retired["usb "+vendor+":"+m.hex(dir+"idProduct")]; ok {
				found = append(found, a)
			}
		}
	}
	for _, d := range m.scanPCI() {
		if a, ok := retired["pci "+d.id()]; ok {
			found = append(found, a)
		}
	}
	return found
}

func (openvinoProbe) Judge(s Sighting, a Answers) Platform {
	seen := s.Platforms[platform.OpenVINO]
	p := Platform{Platform: platform.OpenVINO, Devices: seen.Devices, Evidence: seen.Evidence}
	p.need(a, "openvino", func(answer Answer) {
		var o openvinoAnswer
		if !answer.into(&o) || o.Version == "" {
			p.note("openvino", "its answer gives no version")
			return
		}
		p.Engine = &Engine{platform.EngOpenVINO, o.Version}
		ids := []string{}
		devices := []Device{}
		for _, d := range o.Devices {
			ids = append(ids, d.ID)
			features := lower(d.Capabilities)
			devices = append(devices, Device{ID: d.ID, Name: d.Name, MemoryBytes: d.MemoryBytes, Features: features,
				Settings: openvinoSettings(d.ID, features, d.MemoryBytes, s.CPU)})
		}
		p.note("openvino", fmt.Sprintf("OpenVINO %s with %s", o.Version, orUnnamed(strings.Join(ids, ", "), "no devices")))
		noteUnreached(&p, ids)
		if len(devices) == 0 {
			p.absentFor("OpenVINO lists no device", "reinstall openvino: its CPU plug-in is missing")
			return
		}
		p.Status, p.Devices = Present, devices
	})
	return p
}

// Unlisted is how evidence says that hardware which was seen cannot be reached.
const Unlisted = "OpenVINO does not list it"

// noteUnreached names hardware that was seen and that OpenVINO does not list.
func noteUnreached(p *Platform, ids []string) {
	for _, d := range p.Devices {
		numbered := d.ID + ".0" // what OpenVINO calls the first of several
		if !slices.Contains(ids, d.ID) && !slices.Contains(ids, numbered) {
			p.note("openvino", fmt.Sprintf("%s (%s) is in the machine, but %s: install its driver", d.ID, d.Name, Unlisted))
		}
	}
}

func lower(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return out
}

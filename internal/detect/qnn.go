package detect

import (
	"fmt"
	"strings"

	"assay/internal/platform"
)

type qnnProbe struct{}

func (qnnProbe) Platform() platform.Name { return platform.QNN }

func (qnnProbe) Look(m *Machine) Seen {
	s := Seen{}
	text, source := socText(m)
	row, known := findSoC(text)
	switch {
	case known:
		s.note(source, fmt.Sprintf("%s, %s, Hexagon HTP v%d", row.Title, strings.ToUpper(row.ID), row.HTP))
		s.Devices = []Device{row.device()}
	case strings.Contains(strings.ToLower(text), "qcom") || strings.Contains(strings.ToLower(text), "qualcomm"):
		s.note(source, "a Qualcomm system that Assay's table does not have: "+firstLine(text))
	}
	nodes := append(m.glob("dev/fastrpc-*"), m.glob("dev/adsprpc-smd*")...)
	if len(nodes) > 0 {
		s.note("/dev", "DSP nodes /"+strings.Join(nodes, ", /"))
	}
	if known && m.OS == "linux" && len(nodes) == 0 {
		s.Missing = "there is no /dev/fastrpc-cdsp, the way to the NPU"
		s.Hint = "load the fastrpc driver and the DSP's firmware"
	}
	return s
}

// socText is what names the system on chip.
func socText(m *Machine) (text, source string) {
	if m.OS == "windows" {
		return m.Native.Model, "registry"
	}
	if m.OS != "linux" {
		return "", ""
	}
	var parts []string
	for _, name := range []string{"sys/devices/soc0/machine", "sys/devices/soc0/family"} {
		parts = append(parts, m.textOf(name))
	}
	if t := strings.TrimSpace(strings.Join(parts, "\n")); t != "" {
		return t, "soc0"
	}
	return m.textOf("proc/device-tree/compatible"), "device-tree"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (qnnProbe) Judge(s Sighting, a Answers) Platform {
	seen := s.Platforms[platform.QNN]
	p := Platform{Platform: platform.QNN, Devices: seen.Devices, Evidence: seen.Evidence}
	p.need(a, "onnxruntime", func(answer Answer) { judgeORT(&p, seen, answer) })
	if p.Status != Present && len(seen.Devices) == 0 {
		p.absentFor("no Qualcomm NPU was seen", "QNN needs a Snapdragon system, or the onnxruntime-qnn package with its emulator on Linux x86-64")
	}
	return p
}

func judgeORT(p *Platform, seen Seen, answer Answer) {
	var o ortAnswer
	if !answer.into(&o) || o.Version == "" {
		p.note("onnxruntime", "its answer gives no version")
		return
	}
	p.note("onnxruntime", fmt.Sprintf("ONNX Runtime %s with %s", o.Version, strings.Join(o.Providers, ", ")))
	q := o.QNN
	if q.Version == "" {
		p.absentFor(orUnnamed(q.Absent, orUnnamed(q.Error, "the QNN provider is not installed")), "install onnxruntime-qnn, or name a Python that has it with --python")
		return
	}
	if !q.Library {
		p.absentFor("onnxruntime-qnn has no HTP library", "reinstall onnxruntime-qnn")
		return
	}
	p.Engine = &Engine{platform.EngQNN, q.Version}
	p.Status = Present
	switch {
	case q.Emulator:
		p.note("onnxruntime", "QNN "+q.Version+" carries the HTP library with its emulator: software, no device")
		p.Devices = emulated()
	case seen.Missing != "":
		p.absentFor(seen.Missing, seen.Hint)
	case len(p.Devices) == 0:
		p.absentFor("the QNN provider is installed, but no known Qualcomm NPU was seen", "report this system's name so that it can be added")
	default:
		row, _ := findSoC(p.Devices[0].ID)
		p.Devices[0].Settings = qnnSettings(row)
	}
}

// emulated lists the systems that the emulator was seen to run models for.
func emulated() []Device {
	var devices []Device
	for _, row := range socs().SoCs {
		if !row.Emulated {
			continue
		}
		d := row.device()
		d.Name, d.Software = d.Name+", emulated", true
		d.Settings = qnnSettings(row)
		devices = append(devices, d)
	}
	return devices
}

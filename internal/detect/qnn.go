package detect

import (
	"fmt"
	"strings"

	"assay/internal/platform"
)

type qnnProbe struct{}

func (qnnProbe) Platform() platform.Name { return platform.QNN }

// soc is a Qualcomm system on chip that QNN drives.
type soc struct {
	id    string // the target's device
	title string
	names []string // in soc0, in the device tree, in Windows' processor name; lower case
	model int      // QNN's soc_model
	htp   int      // generation of the Hexagon tensor processor
	// emulated: the emulator was seen to run models for it.
	emulated bool
}

// socs is what is public of QNN's own table.
var socs = []soc{
	{"sm8350", "Snapdragon 888", []string{"sm8350"}, 30, 68, false},
	{"sc8280xp", "Snapdragon 8cx Gen 3", []string{"sc8280xp"}, 37, 68, false},
	{"qcm6490", "Dragonwing QCM6490/QCS6490", []string{"qcm6490", "qcs6490"}, 93, 68, false},
	{"sm8450", "Snapdragon 8 Gen 1", []string{"sm8450"}, 36, 69, true},
	{"sm8475", "Snapdragon 8+ Gen 1", []string{"sm8475"}, 42, 69, false},
	{"sm8550", "Snapdragon 8 Gen 2", []string{"sm8550"}, 43, 73, false},
	{"sa8255", "SA8255P", []string{"sa8255"}, 52, 73, false},
	{"sc8380xp", "Snapdragon X", []string{"sc8380xp", "x1e80100", "x1e78100", "x1e001de", "x1p64100", "x1p42100", "x1p66100", "x126100"}, 60, 73, true},
	{"sm8650", "Snapdragon 8 Gen 3", []string{"sm8650"}, 57, 75, true},
	{"sm8750", "Snapdragon 8 Elite", []string{"sm8750"}, 69, 79, true},
	{"sm8850", "Snapdragon 8 Elite Gen 5", []string{"sm8850"}, 87, 81, true},
}

func findSoC(text string) (soc, bool) {
	text = strings.ToLower(text)
	for _, row := range socs {
		for _, name := range row.names {
			if strings.Contains(text, name) {
				return row, true
			}
		}
	}
	return soc{}, false
}

func (row soc) device() Device {
	return Device{ID: row.id, Name: fmt.Sprintf("%s (%s) Hexagon NPU", row.title, strings.ToUpper(row.id)),
		Features: []string{fmt.Sprintf("htp v%d", row.htp), fmt.Sprintf("soc_model %d", row.model)}}
}

func (qnnProbe) Look(m *Machine) Seen {
	s := Seen{}
	text, source := socText(m)
	row, known := findSoC(text)
	switch {
	case known:
		s.note(source, fmt.Sprintf("%s, %s, Hexagon HTP v%d", row.title, strings.ToUpper(row.id), row.htp))
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
		p.note("onnxruntime", "its answer does not say a version")
		return
	}
	p.note("onnxruntime", fmt.Sprintf("ONNX Runtime %s with %s", o.Version, strings.Join(o.Providers, ", ")))
	q := o.QNN
	if q.Version == "" {
		p.absentFor(orUnnamed(q.Absent, orUnnamed(q.Error, "the QNN provider is not installed")), "install onnxruntime-qnn, or give a Python that has it with --python")
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
		p.Devices[0].Settings = qnnSettings(p.Devices[0].Features)
	}
}

// emulated lists the systems that the emulator was seen to run models for.
func emulated() []Device {
	var devices []Device
	for _, row := range socs {
		if !row.emulated {
			continue
		}
		d := row.device()
		d.Name, d.Software = d.Name+", emulated", true
		d.Settings = qnnSettings(d.Features)
		devices = append(devices, d)
	}
	return devices
}

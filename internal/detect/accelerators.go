package detect

import (
	"strings"
)

// accelerator is a row for a device that is seen and named, whether or not
// Assay has an engine for it.
type acceleratorRow struct{ kind, name, note string }

const (
	noEngine    = "Assay has no engine for it yet"
	viaOpenVINO = "reached through OpenVINO's NPU device"
)

// accelerators is by PCI vendor and device.
var accelerators = map[string]acceleratorRow{
	"8086:7d1d": {"npu", "Intel NPU (Meteor Lake)", viaOpenVINO},
	"8086:ad1d": {"npu", "Intel NPU (Arrow Lake)", viaOpenVINO},
	"8086:643e": {"npu", "Intel NPU (Lunar Lake)", viaOpenVINO},
	"8086:b03e": {"npu", "Intel NPU (Panther Lake)", viaOpenVINO},
	"1022:1502": {"npu", "AMD XDNA NPU (Phoenix, Hawk Point)", noEngine},
	"1022:17f0": {"npu", "AMD XDNA 2 NPU (Strix, Krackan)", noEngine},
	"1da3:1000": {"gaudi", "Intel Gaudi", noEngine},
	"1da3:1020": {"gaudi", "Intel Gaudi 2", noEngine},
	"1da3:1060": {"gaudi", "Intel Gaudi 3", noEngine},
	"19e5:d100": {"ascend", "Huawei Ascend 310", noEngine},
	"19e5:d500": {"ascend", "Huawei Ascend 310P", noEngine},
	"19e5:d801": {"ascend", "Huawei Ascend 910", noEngine},
	"19e5:d802": {"ascend", "Huawei Ascend 910B", noEngine},
	"1d0f:7064": {"neuron", "AWS Inferentia", noEngine},
	"1d0f:7065": {"neuron", "AWS Inferentia", noEngine},
	"1d0f:7066": {"neuron", "AWS Inferentia", noEngine},
	"1d0f:7067": {"neuron", "AWS Inferentia", noEngine},
	"1d0f:7164": {"neuron", "AWS Trainium", noEngine},
	"1d0f:7264": {"neuron", "AWS Inferentia 2", noEngine},
	"1d0f:7364": {"neuron", "AWS Trainium 2", noEngine},
	"1ae0:0027": {"tpu", "Google TPU v2 or v3", noEngine},
	"1ae0:005e": {"tpu", "Google TPU v4", noEngine},
	"1ae0:0062": {"tpu", "Google TPU v5p", noEngine},
	"1ae0:0063": {"tpu", "Google TPU v5e", noEngine},
	"1ae0:006f": {"tpu", "Google TPU v6e", noEngine},
	"1ac1:089a": {"tpu", "Google Coral Edge TPU", noEngine},
	"17cb:a100": {"npu", "Qualcomm Cloud AI 100", noEngine},
}

// acceleratorVendors catch devices newer than the table: what such a vendor
// marks as a processing accelerator is one.
var acceleratorVendors = map[string]acceleratorRow{
	vendorIntel:    {"npu", "Intel accelerator", noEngine},
	vendorAMDCPU:   {"npu", "AMD NPU", noEngine},
	vendorHabana:   {"gaudi", "Intel Gaudi", noEngine},
	vendorHuawei:   {"ascend", "Huawei Ascend", noEngine},
	vendorAmazon:   {"neuron", "AWS Neuron device", noEngine},
	vendorGoogle:   {"tpu", "Google TPU", noEngine},
	vendorQualcomm: {"npu", "Qualcomm accelerator", noEngine},
}

func lookAccelerators(m *Machine) []Accelerator {
	var found []Accelerator
	for _, d := range m.scanPCI() {
		row, known := accelerators[d.id()]
		if _, old := retired["pci "+d.id()]; !known && !old && d.accelerator() {
			if row, known = acceleratorVendors[d.vendor]; known {
				row.name += " [" + d.id() + "]"
			}
		}
		if known {
			found = append(found, Accelerator{row.kind, row.name, "pci " + d.String(), row.note})
		}
	}
	found = append(found, lookRetired(m)...)
	return append(found, lookDSP(m)...)
}

// lookDSP names Qualcomm's DSPs by the nodes through which they are called.
func lookDSP(m *Machine) []Accelerator {
	titles := []struct{ part, name string }{
		{"cdsp", "Qualcomm Hexagon compute DSP"}, {"adsp", "Qualcomm Hexagon audio DSP"}, {"sdsp", "Qualcomm Hexagon sensor DSP"},
	}
	var found []Accelerator
	for _, t := range titles {
		nodes := m.glob("dev/fastrpc-" + t.part + "*")
		if len(nodes) > 0 {
			found = append(found, Accelerator{"dsp", t.name, "/" + strings.Join(nodes, ", /"), "reached through QNN"})
		}
	}
	return found
}

package detect

import (
	"fmt"
	"strconv"
	"strings"
)

// pciDevice is a device as sysfs shows it, numbers without their 0x.
type pciDevice struct {
	slot                  string // 0000:61:00.0
	vendor, device, class string
	driver                string // "" when none is bound
}

// PCI vendors, as sysfs writes them.
const (
	vendorNVIDIA   = "10de"
	vendorAMD      = "1002"
	vendorAMDCPU   = "1022"
	vendorIntel    = "8086"
	vendorHabana   = "1da3"
	vendorHuawei   = "19e5"
	vendorAmazon   = "1d0f"
	vendorGoogle   = "1ae0"
	vendorQualcomm = "17cb"
)

// scanPCI lists the PCI devices once for each Machine.
func (m *Machine) scanPCI() []pciDevice {
	if m.pci != nil {
		return m.pci
	}
	m.pci = []pciDevice{}
	for _, slot := range m.list("sys/bus/pci/devices") {
		dir := "sys/bus/pci/devices/" + slot + "/"
		d := pciDevice{slot: slot, vendor: m.hex(dir + "vendor"), device: m.hex(dir + "device"), class: m.hex(dir + "class")}
		if d.display() || d.accelerator() || accelerators[d.id()].kind != "" {
			d.driver = m.link(dir + "driver")
		}
		m.pci = append(m.pci, d)
	}
	return m.pci
}

func (m *Machine) hex(name string) string {
	return strings.ToLower(strings.TrimPrefix(m.textOf(name), "0x"))
}

// display reports whether the device is a display controller (a GPU).
func (d pciDevice) display() bool { return strings.HasPrefix(d.class, "03") }

// accelerator reports whether the device is a processing accelerator.
func (d pciDevice) accelerator() bool { return strings.HasPrefix(d.class, "12") }

func (d pciDevice) id() string { return d.vendor + ":" + d.device }

func (d pciDevice) String() string {
	s := fmt.Sprintf("%s at %s", d.id(), d.slot)
	if d.driver != "" {
		s += ", driver " + d.driver
	}
	return s
}

// gpus returns the GPUs and accelerator cards of a vendor.
func (m *Machine) gpus(vendor string) []pciDevice {
	var found []pciDevice
	for _, d := range m.scanPCI() {
		if d.vendor == vendor && (d.display() || d.accelerator()) && accelerators[d.id()].kind == "" {
			found = append(found, d)
		}
	}
	return found
}

// pciName returns the marketing name of a device that Assay knows.
func pciName(d pciDevice, title string) string {
	if name := pciNames[d.id()]; name != "" {
		return name
	}
	return fmt.Sprintf("%s [%s]", title, d.id())
}

// pciNames is short on purpose: the driver's and the engine's own name is
// preferred wherever there is one.
var pciNames = map[string]string{
	"10de:20b0": "NVIDIA A100-SXM4-40GB", "10de:20b2": "NVIDIA A100-SXM4-80GB", "10de:20b5": "NVIDIA A100 80GB PCIe",
	"10de:2330": "NVIDIA H100 80GB HBM3", "10de:2331": "NVIDIA H100 PCIe", "10de:2335": "NVIDIA H200",
	"10de:2901": "NVIDIA B200", "10de:26b9": "NVIDIA L40S", "10de:27b8": "NVIDIA L4", "10de:1eb8": "NVIDIA T4",
	"10de:2684": "NVIDIA GeForce RTX 4090", "10de:2b85": "NVIDIA GeForce RTX 5090",
	"1002:738c": "AMD Instinct MI100", "1002:740c": "AMD Instinct MI250X", "1002:7408": "AMD Instinct MI250X",
	"1002:740f": "AMD Instinct MI210", "1002:74a0": "AMD Instinct MI300A", "1002:74a1": "AMD Instinct MI300X",
	"1002:74a2": "AMD Instinct MI308X", "1002:74a5": "AMD Instinct MI325X", "1002:74b5": "AMD Instinct MI300X VF",
	"1002:75a0": "AMD Instinct MI350X", "1002:75a3": "AMD Instinct MI355X",
	"1002:744c": "AMD Radeon RX 7900 XT/XTX", "1002:7550": "AMD Radeon RX 9070/9070 XT",
	"1002:15bf": "AMD Radeon 780M (Phoenix)", "1002:1900": "AMD Radeon 780M (Hawk Point)",
	"1002:150e": "AMD Radeon 880M/890M (Strix Point)", "1002:1586": "AMD Radeon 8060S (Strix Halo)",
	"8086:7d55": "Intel Arc Graphics (Meteor Lake-P)", "8086:7d45": "Intel Graphics (Meteor Lake-P)",
	"8086:64a0": "Intel Arc Graphics 130V/140V (Lunar Lake)", "8086:7d51": "Intel Arc Graphics 130T/140T (Arrow Lake)",
	"8086:b080": "Intel Arc Graphics (Panther Lake)",
	"8086:56a0": "Intel Arc A770", "8086:e20b": "Intel Arc B580", "8086:0bd5": "Intel Data Center GPU Max 1550",
	"8086:46a6": "Intel Iris Xe Graphics (Alder Lake-P)", "8086:a7a0": "Intel Iris Xe Graphics (Raptor Lake-P)",
}

// address turns KFD's location id and domain into a PCI slot.
func address(domain, location uint64) string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, location>>8&0xff, location>>3&0x1f, location&7)
}

func parseUint(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

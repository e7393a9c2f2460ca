package detect

import (
	"fmt"
	"strconv"
	"strings"
)

const kfdNodes = "sys/class/kfd/kfd/topology/nodes"

// kfdNode is a GPU as AMD's compute driver shows it.
type kfdNode struct {
	arch        string // gfx942
	slot        string // its PCI slot
	id          string // vendor:device
	units       int    // compute units
	memoryBytes int64
	render      string // dev/dri/renderD128
	uuid        string // GPU- and unique_id in hex, as ROCR_VISIBLE_DEVICES takes it
}

// lookKFD lists the GPUs of the topology; its CPU nodes have no SIMDs.
func lookKFD(m *Machine) []kfdNode {
	var nodes []kfdNode
	for _, n := range numbered(m.list(kfdNodes)) {
		dir := kfdNodes + "/" + n
		if node, ok := parseKFD(m.textOf(dir + "/properties")); ok {
			node.memoryBytes = kfdMemory(m, dir)
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// parseKFD reads a node's properties, "name value" lines.
func parseKFD(text string) (kfdNode, bool) {
	f := pairs(text)
	target := parseUint(f["gfx_target_version"])
	if target == 0 || parseUint(f["simd_count"]) == 0 {
		return kfdNode{}, false
	}
	node := kfdNode{
		arch: gfxName(target),
		slot: address(parseUint(f["domain"]), parseUint(f["location_id"])),
		id:   fmt.Sprintf("%04x:%04x", parseUint(f["vendor_id"]), parseUint(f["device_id"])),
	}
	if per := parseUint(f["simd_per_cu"]); per > 0 {
		node.units = int(parseUint(f["simd_count"]) / per)
	}
	if minor := parseUint(f["drm_render_minor"]); minor > 0 {
		node.render = fmt.Sprintf("dev/dri/renderD%d", minor)
	}
	if unique := parseUint(f["unique_id"]); unique > 0 {
		node.uuid = fmt.Sprintf("GPU-%016x", unique)
	}
	return node, true
}

// gfxName turns 90402 into gfx942: the last two parts are hexadecimal digits.
func gfxName(target uint64) string {
	return fmt.Sprintf("gfx%d%x%x", target/10000, target/100%100, target%100)
}

// kfdMemory sums the banks that lie on the card; heap 0 is the host's memory.
func kfdMemory(m *Machine, dir string) int64 {
	var sum int64
	for _, bank := range m.list(dir + "/mem_banks") {
		f := pairs(m.textOf(dir + "/mem_banks/" + bank + "/properties"))
		if heap := f["heap_type"]; heap == "1" || heap == "2" {
			sum += int64(parseUint(f["size_in_bytes"]))
		}
	}
	return max(sum, 0)
}

// pairs reads "name value" lines.
func pairs(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			m[name] = strings.TrimSpace(value)
		}
	}
	return m
}

// numbered returns the names that are numbers, in numeric order: the kernel's
// order of nodes, which is also the runtime's.
func numbered(names []string) []string {
	top := map[int]string{}
	last := -1
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < maxCPUs {
			top[n], last = name, max(last, n)
		}
	}
	var sorted []string
	for n := 0; n <= last; n++ {
		if name, ok := top[n]; ok {
			sorted = append(sorted, name)
		}
	}
	return sorted
}

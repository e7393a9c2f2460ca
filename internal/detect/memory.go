package detect

import (
	"fmt"
	"strconv"
	"strings"
)

// Memory is the host's memory.
type Memory struct {
	Total  int64  `json:"total_bytes"`
	Limit  *int64 `json:"limit_bytes"`  // what the control group allows; nil is no limit
	Usable int64  `json:"usable_bytes"` // the smaller of both
}

func lookMemory(m *Machine) Memory {
	mem := Memory{Total: totalBytes(m)}
	mem.Usable = mem.Total
	if limit := cgroupMemory(m); limit != nil && (mem.Total == 0 || *limit < mem.Total) {
		mem.Limit, mem.Usable = limit, *limit
	}
	return mem
}

func totalBytes(m *Machine) int64 {
	switch m.OS {
	case "linux":
		kib, _, _ := strings.Cut(statusLine(m.textOf("proc/meminfo"), "MemTotal"), " ")
		return parseSize(kib + "K")
	case "darwin":
		n, _ := strconv.ParseInt(sysctls(m)["hw.memsize"], 10, 64)
		return max(n, 0)
	}
	return m.Native.MemoryBytes
}

func (mem Memory) detail() string {
	switch {
	case mem.Total == 0:
		return ""
	case mem.Limit != nil:
		return fmt.Sprintf("%s in the machine, control group allows %s", Bytes(mem.Total), Bytes(*mem.Limit))
	}
	return Bytes(mem.Total)
}

// Bytes writes a size for people, in binary units.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if f >= 100 || i == 0 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// MemoryOf is the memory of a machine, by the first pass and nothing else of it: it takes
// no time.
func MemoryOf(m *Machine) Memory { return lookMemory(m) }

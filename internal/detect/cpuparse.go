package detect

import (
	"slices"
	"strconv"
	"strings"
)

// cpuInfo is what /proc/cpuinfo says.
type cpuInfo struct {
	model, vendor string
	features      []string
	cpus          []int          // numbers of the logical CPUs
	core          map[int]string // "socket/core" of a logical CPU, where told
}

func parseCPUInfo(text string) cpuInfo {
	info := cpuInfo{core: map[int]string{}}
	for _, block := range strings.Split(text, "\n\n") {
		info.add(fields(block))
	}
	return info
}

func (info *cpuInfo) add(f map[string]string) {
	n, err := strconv.Atoi(f["processor"])
	if err != nil || n < 0 || slices.Contains(info.cpus, n) {
		return
	}
	info.cpus = append(info.cpus, n)
	if f["physical id"] != "" && f["core id"] != "" {
		info.core[n] = f["physical id"] + "/" + f["core id"]
	}
	part := f["CPU implementer"] + "/" + f["CPU part"]
	info.model = orUnnamed(info.model, orUnnamed(f["model name"], armParts[part]))
	info.vendor = orUnnamed(info.vendor, f["vendor_id"])
	if info.features == nil {
		info.features = fromFlags(strings.Fields(f["flags"] + " " + f["Features"]))
	}
}

func fromFlags(flags []string) []string {
	var features []string
	for _, f := range cpuFeatures {
		if slices.ContainsFunc(f.flags, func(flag string) bool { return slices.Contains(flags, flag) }) {
			features = append(features, f.name)
		}
	}
	return features
}

// fields reads "key : value" lines.
func fields(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			m[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return m
}

func statusLine(text, key string) string { return fields(text)[key] }

// maxCPUs is far more than any machine has; a list that names more is wrong.
const maxCPUs = 1 << 16

// parseList reads the kernel's lists of numbers, "0-3,8". What is malformed is
// left out.
func parseList(s string) []int {
	var list []int
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(lo)
		to := from
		if ranged && err == nil {
			to, err = strconv.Atoi(hi)
		}
		if err != nil || from < 0 || to >= maxCPUs {
			continue
		}
		for n := from; n <= to; n++ {
			list = append(list, n)
		}
	}
	return list
}

// parseSize reads sizes such as "1024K"; 0 is unreadable.
func parseSize(s string) int64 {
	units := map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
	factor := int64(1)
	for unit, f := range units {
		if rest, ok := strings.CutSuffix(s, unit); ok {
			s, factor = rest, f
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<50/factor {
		return 0
	}
	return n * factor
}

func trimFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

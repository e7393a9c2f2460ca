package loading

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// private is the memory that a process shares with nobody: what ends with it.
func private(pid int) (int64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, false
	}
	var total int64
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "Private_Clean" && name != "Private_Dirty" {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, false
		}
		total += kib << 10
	}
	return total, total > 0
}

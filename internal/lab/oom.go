package lab

import (
	"os"
	"strconv"
	"strings"
)

// oomKills is the kernel's count of processes it killed for memory since it
// started, in a control group or the whole machine. Only Linux tells.
func oomKills() (int64, bool) {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			count, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			return count, err == nil
		}
	}
	return 0, false
}

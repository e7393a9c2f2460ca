package cell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostCPUs is one more than the largest number that a processor may have.
const mostCPUs = 1 << 14

// ParseCPUs reads a list of processors as Linux writes it: "0-3,8". The numbers
// are in order, each once; "" is none.
func ParseCPUs(list string) ([]int, error) {
	var out []int
	if list == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || a < 0 || b < a || b >= mostCPUs {
			return nil, fmt.Errorf("%.60q is not a list of processors: it must look like 0-3,8", list)
		}
		for n := a; n <= b; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

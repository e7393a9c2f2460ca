package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/cell"

	"golang.org/x/sys/unix"
)

// Pinnable says in a sentence why children cannot be held to a list of
// processors, if so: each must be one that this program may run on.
func Pinnable(list string) error {
	cpus, err := cell.ParseCPUs(list)
	if err != nil || len(cpus) == 0 {
		return err
	}
	may, err := Processors()
	if err != nil {
		return err
	}
	for _, n := range cpus {
		if !slices.Contains(may, n) {
			return fmt.Errorf("processor %d is not one that this program may run on: those are %s", n, listed(may))
		}
	}
	return nil
}

// Processors are those that this program may run on and hold its children to, in order.
func Processors() ([]int, error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil, fmt.Errorf("which processors there are is unknown: %w", err)
	}
	var out []int
	for n := 0; len(out) < may.Count(); n++ {
		if may.IsSet(n) {
			out = append(out, n)
		}
	}
	return out, nil
}

func listed(cpus []int) string {
	var out []string
	for _, n := range cpus {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}

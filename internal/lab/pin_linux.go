package lab

import (
	"fmt"
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
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Errorf("which processors there are is unknown: %w", err)
	}
	for _, n := range cpus {
		if !may.IsSet(n) {
			return fmt.Errorf("processor %d is not one that this program may run on: those are %s", n, listed(may))
		}
	}
	return nil
}

func listed(set unix.CPUSet) string {
	var out []string
	for n, left := 0, set.Count(); left > 0; n++ {
		if set.IsSet(n) {
			out, left = append(out, strconv.Itoa(n)), left-1
		}
	}
	return strings.Join(out, ", ")
}

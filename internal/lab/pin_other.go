//go:build !linux

package lab

import (
	"errors"

	"assay/internal/cell"
)

// Pinnable says in a sentence why children cannot be held to a list of
// processors, if so: only Linux lets a program choose them.
func Pinnable(list string) error {
	cpus, err := cell.ParseCPUs(list)
	if err != nil || len(cpus) == 0 {
		return err
	}
	return errors.New("only Linux lets a program choose its processors: leave it out")
}

// Processors are those that this program may hold its children to: elsewhere than on
// Linux there are none.
func Processors() ([]int, error) { return nil, nil }

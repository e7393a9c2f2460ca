//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
)

// startAgain puts the program again in this process's place, with the same arguments and those added to them. It returns only
// where that cannot be done.
func startAgain(added ...string) error {
	program, err := os.Executable()
	if err == nil {
		err = syscall.Exec(program, append(slices.Clone(os.Args), added...), os.Environ()) //nolint:gosec // the program itself, as it was called
	}
	return fmt.Errorf("start again: %w", err)
}

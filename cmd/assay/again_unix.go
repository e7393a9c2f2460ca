//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// startAgain puts the program again in this process's place, with the same arguments. It returns only where that cannot be done.
func startAgain() error {
	program, err := os.Executable()
	if err == nil {
		err = syscall.Exec(program, os.Args, os.Environ()) //nolint:gosec // the program itself, as it was called
	}
	return fmt.Errorf("start again: %w", err)
}

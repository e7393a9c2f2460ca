//go:build unix

package byssh

import (
	"os/exec"
	"syscall"
)

// own keeps the terminal's Ctrl-C from ssh: the worker is stopped first.
func own(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

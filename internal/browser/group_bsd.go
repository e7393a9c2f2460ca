//go:build unix && !linux

package browser

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

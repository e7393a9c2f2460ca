//go:build unix && !linux

package environment

import (
	"os/exec"
	"syscall"
)

// inGroup puts the child into a group of its own, killed whole by cancelling.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

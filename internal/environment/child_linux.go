package environment

import (
	"os/exec"
	"syscall"
)

// inGroup puts the child into a group of its own, killed whole by cancelling,
// and makes the kernel kill the child when this process is killed.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

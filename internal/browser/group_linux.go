package browser

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a group of its own, and makes the kernel kill
// it when this process dies.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

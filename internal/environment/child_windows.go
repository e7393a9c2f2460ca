package environment

import (
	"os/exec"
	"syscall"
)

// inGroup keeps Ctrl-C for this process; cancelling kills the child.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

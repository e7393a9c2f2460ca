//go:build !windows

package runner

import (
	"os/exec"
	"syscall"
)

// group is the runner's own process group. A terminal's Ctrl-C does not reach
// it: how to end is Assay's to decide.
type group struct{ pgid int }

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd.Process.Pid}, nil
}

// terminate asks the runner to end itself and all its children, whatever
// group or session they moved to: only it knows them all.
func (g *group) terminate() { _ = syscall.Kill(g.pgid, syscall.SIGTERM) }

// kill ends the runner at once.
func (g *group) kill() { killGroup(g.pgid) }

// close has nothing to give back.
func (g *group) close() {}

// killGroup kills every process of a group. That there is none is not an error.
func killGroup(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGKILL) }

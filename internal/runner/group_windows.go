package runner

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object that holds the runner and everything that it starts.
// Windows ends all of it when the last handle is closed, so also when Assay
// is killed.
type group struct {
	once sync.Once
	job  windows.Handle
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	g := &group{job: job}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		g.close()
		return nil, fmt.Errorf("set up a job object: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		g.close()
		return nil, err
	}
	if err := g.adopt(uint32(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *group) adopt(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("open the runner's process: %w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(g.job, process); err != nil {
		return fmt.Errorf("put the runner into a job object: %w", err)
	}
	return nil
}

// terminate is kill: the job object knows all that the runner started.
func (g *group) terminate() { g.close() }

// kill ends the runner and everything below it at once.
func (g *group) kill() { g.close() }

// close ends what is left.
func (g *group) close() { g.once.Do(func() { _ = windows.CloseHandle(g.job) }) }

// killGroup has nothing to do: the job object holds the children too.
func killGroup(int) {}

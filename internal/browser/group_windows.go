package browser

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object that holds the browser and everything it starts.
// Windows ends all of it when the last handle is closed, so also when Assay is
// killed.
type group struct {
	once sync.Once
	job  windows.Handle
}

func (g *group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// adopt puts the process into the job object, or kills it.
func (g *group) adopt(p *os.Process) error {
	err := g.assign(uint32(p.Pid))
	if err != nil {
		_ = p.Kill()
		g.kill()
	}
	return err
}

func (g *group) assign(pid uint32) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create a job object: %w", err)
	}
	g.job = job
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return fmt.Errorf("set up a job object: %w", err)
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("open the browser's process: %w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return fmt.Errorf("put the browser into a job object: %w", err)
	}
	return nil
}

func (g *group) kill() {
	g.once.Do(func() {
		if g.job != 0 {
			_ = windows.TerminateJobObject(g.job, 1)
			_ = windows.CloseHandle(g.job)
		}
	})
}

// memory of the moment is not known: a job object keeps the peak alone.
func (g *group) memory() (int64, bool) { return 0, false }

// twice is not known, and not needed: the job object counts a page once.
func (g *group) twice() (int64, bool) { return 0, false }

// peak is the most that the job's processes had committed together.
func (g *group) peak() (int64, bool) {
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return int64(info.PeakJobMemoryUsed), err == nil && info.PeakJobMemoryUsed > 0
}

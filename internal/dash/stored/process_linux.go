package stored

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mostTime is how long the processors may work on a question whose server is gone.
const mostTime = time.Minute

// limitProcess limits what this process may allocate and compute.
func limitProcess(memory uint64) error {
	for what, most := range map[int]uint64{unix.RLIMIT_DATA: memory, unix.RLIMIT_CPU: uint64(mostTime.Seconds()), unix.RLIMIT_CORE: 0} {
		var now unix.Rlimit
		if err := unix.Getrlimit(what, &now); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
		most = min(most, now.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	return nil
}

// killed tells of a process that the system ended, or that gave up itself.
func killed(e *exec.ExitError) bool {
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

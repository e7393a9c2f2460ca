package runnertest

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// exists reports whether there is such a process.
func exists(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	ended, err := windows.WaitForSingleObject(h, 0)
	return err == nil && ended == uint32(windows.WAIT_TIMEOUT)
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}

func describe(pid int) string { return fmt.Sprint("process ", pid) }

func peakMemory(int) (int, bool) { return 0, false }

//go:build !windows

package runnertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// exists reports whether there is such a process, be it a zombie.
func exists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}

// describe says what is known about a process that should not be there.
func describe(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err.Error()
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(status) + string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
}

// peakMemory is the most resident memory that a process had, in bytes.
func peakMemory(pid int) (int, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return 0, false
	}
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	return kb << 10, err == nil
}

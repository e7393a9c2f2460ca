//go:build unix

package lab

import "golang.org/x/sys/unix"

// processCPU is the CPU time this process has used, in seconds.
func processCPU() (float64, bool) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	s := func(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return s(u.Utime) + s(u.Stime), true
}

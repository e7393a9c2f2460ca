package lab

import "golang.org/x/sys/windows"

// processCPU is the CPU time this process has used, in seconds.
func processCPU() (float64, bool) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0, false
	}
	s := func(t windows.Filetime) float64 {
		return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
	}
	return s(kernel) + s(user), true
}

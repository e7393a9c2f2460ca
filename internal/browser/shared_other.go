//go:build !linux

package browser

// sharedMemory has no limit of its own here.
func sharedMemory() (uint64, bool) { return 0, false }

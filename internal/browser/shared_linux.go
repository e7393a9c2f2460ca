package browser

import "golang.org/x/sys/unix"

// sharedMemory is what is free in /dev/shm.
func sharedMemory() (uint64, bool) {
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) != nil {
		return 0, true // there is none
	}
	return fs.Bavail * uint64(fs.Bsize), true
}

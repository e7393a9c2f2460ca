//go:build unix

package doctor

import (
	"golang.org/x/sys/unix"

	"assay/internal/environment"
)

func limits() Limits {
	var l Limits
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		n := files.Cur
		l.Files = &n
	}
	var st unix.Stat_t
	if unix.Stat("/dev/shm", &st) == nil {
		if free, _, err := environment.Free("/dev/shm"); err == nil {
			l.Shared = &free
		}
	}
	return l
}

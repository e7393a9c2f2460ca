//go:build unix

package environment

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func freeOn(dir string) (uint64, string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, "", &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, "", &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return fs.Bavail * uint64(fs.Bsize), fmt.Sprint(st.Dev), nil
}

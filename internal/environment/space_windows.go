package environment

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

func freeOn(dir string) (uint64, string, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, "", err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, "", err
	}
	return free, filepath.VolumeName(dir), nil
}

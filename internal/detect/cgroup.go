package detect

import (
	"path"
	"strconv"
	"strings"
)

// cgroupDirs returns the folders of this process's control group for a
// controller, innermost first: a limit of any of them holds. Version 2 has one
// tree, version 1 a tree for each controller.
func cgroupDirs(m *Machine, controller string) (dirs []string, unified bool) {
	for line := range strings.Lines(m.textOf("proc/self/cgroup")) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		names, group, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			if name == controller {
				return upward("sys/fs/cgroup/"+names, group), false
			}
		}
		if id == "0" && names == "" && m.exists("sys/fs/cgroup/cgroup.controllers") {
			dirs, unified = upward("sys/fs/cgroup", group), true
		}
	}
	return dirs, unified
}

func upward(base, group string) []string {
	var dirs []string
	for g := path.Clean("/" + group); ; g = path.Dir(g) {
		dirs = append(dirs, strings.TrimSuffix(base+g, "/"))
		if g == "/" {
			return dirs
		}
	}
}

// cgroupCPUs returns how many CPUs' worth of time the control groups allow.
func cgroupCPUs(m *Machine) *float64 {
	dirs, unified := cgroupDirs(m, "cpu")
	var least *float64
	for _, dir := range dirs {
		quota, period := m.textOf(dir+"/cpu.cfs_quota_us"), m.textOf(dir+"/cpu.cfs_period_us")
		if unified {
			quota, period, _ = strings.Cut(m.textOf(dir+"/cpu.max"), " ")
		}
		q, errQ := strconv.ParseFloat(quota, 64)
		p, errP := strconv.ParseFloat(period, 64)
		if errQ != nil || errP != nil || q <= 0 || p <= 0 {
			continue
		}
		if cpus := q / p; least == nil || cpus < *least {
			least = &cpus
		}
	}
	return least
}

// cgroupUnlimited is where version 1 begins to mean "no limit".
const cgroupUnlimited = 1 << 60

// cgroupMemory returns the memory that the control groups allow.
func cgroupMemory(m *Machine) *int64 {
	dirs, unified := cgroupDirs(m, "memory")
	file := "/memory.limit_in_bytes"
	if unified {
		file = "/memory.max"
	}
	var least *int64
	for _, dir := range dirs {
		n, err := strconv.ParseInt(m.textOf(dir+file), 10, 64)
		if err != nil || n <= 0 || n >= cgroupUnlimited {
			continue
		}
		if least == nil || n < *least {
			least = &n
		}
	}
	return least
}

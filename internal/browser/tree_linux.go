package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// everyone lists the processes of the system that are not zombies.
func everyone() []running {
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	var all []running
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		if p, ok := parseStat(text); ok {
			all = append(all, p)
		}
	}
	return all
}

// parseStat reads "pid (name) state parent group …"; the name may hold anything.
func parseStat(text []byte) (running, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return running{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 3 || strings.ContainsAny(fields[0], "ZX") {
		return running{}, false
	}
	var p running
	var errs [3]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(string(text[:open])))
	p.parent, errs[1] = strconv.Atoi(fields[1])
	p.group, errs[2] = strconv.Atoi(fields[2])
	p.memory = func() int64 { return residentBytes(p.pid) }
	p.shares = func() (int64, bool) { return shareBytes(p.pid) }
	return p, errs == [3]error{}
}

// residentBytes is the memory that a process has for itself or shares as
// memory. Pages of files are left out: the program's are the same in each.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	sum, _ := sumOf(string(text), "RssAnon", "RssShmem")
	return sum
}

// shareBytes is the same with every page divided by the number of processes
// that have it; false where the kernel does not tell, or tells not us.
func shareBytes(pid int) (int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0, false
	}
	return sumOf(string(text), "Pss_Anon", "Pss_Shmem")
}

// sumOf adds up fields like "RssAnon:  12 kB" of a text, in bytes; false where
// one of them is not there.
func sumOf(text string, fields ...string) (int64, bool) {
	var sum int64
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if !slices.Contains(fields, name) {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err == nil {
			sum += kib << 10
			found++
		}
	}
	return sum, found == len(fields)
}

package confine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// group is a cgroup of version 2 for all tasks of this worker.
type group struct{ dir string }

// newGroup makes one in this process's own, if that was delegated to us.
func newGroup(memory int64) (*group, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	dir, err := ownGroup(string(mounts), string(own))
	if err != nil {
		return nil, err
	}
	return groupIn(dir, memory, os.Getpid())
}

// ownGroup is the folder of this process's cgroup.
func ownGroup(mounts, own string) (string, error) {
	root := ""
	for line := range strings.Lines(mounts) {
		before, after, found := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if found && len(fields) > 4 && strings.HasPrefix(after, "cgroup2 ") {
			root = fields[4]
		}
	}
	if root == "" {
		return "", errors.New("this system has no cgroups of version 2")
	}
	for line := range strings.Lines(own) {
		if path, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			return filepath.Join(root, path), nil
		}
	}
	return "", errors.New("this process is in no cgroup of version 2")
}

// groupIn makes a cgroup in a delegated one. A cgroup that limits its children may hold no process
// itself, so that this one moves into a leaf first.
func groupIn(dir string, memory int64, pid int) (*group, error) {
	if !slices.Contains(words(dir, "cgroup.controllers"), "memory") {
		return nil, fmt.Errorf("memory is not delegated to %s: start the worker by its systemd unit (Delegate=memory), or leave the limit out", dir)
	}
	leaf := filepath.Join(dir, "assay-worker-"+strconv.Itoa(pid))
	tasks := filepath.Join(dir, "assay-tasks-"+strconv.Itoa(pid))
	for _, d := range []string{leaf, tasks} {
		if err := os.Mkdir(d, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("the cgroup is not delegated: %w", err)
		}
	}
	if !slices.Contains(words(dir, "cgroup.subtree_control"), "memory") {
		if err := write(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return nil, err
		}
		if err := write(dir, "cgroup.subtree_control", "+memory"); err != nil {
			return nil, fmt.Errorf("other processes share the worker's cgroup: %w", err)
		}
	}
	if err := write(tasks, "memory.max", strconv.FormatInt(memory, 10)); err != nil {
		return nil, err
	}
	_ = write(tasks, "memory.oom.group", "0") // one task dies, not all
	return &group{tasks}, nil
}

func (g *group) remove() error {
	err := os.Remove(g.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func write(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}

func words(dir, name string) []string {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Scan()
	return strings.Fields(s.Text())
}

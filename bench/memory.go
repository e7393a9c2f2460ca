package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memoryWatch looks at the memory of this process's descendants while it runs.
type memoryWatch struct {
	cancel context.CancelFunc
	most   chan int64
}

// watchMemory begins to look, four times a second. Pages that processes share
// count once in all: a forked child shares nearly everything with its parent.
func watchMemory(ctx context.Context) memoryWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := memoryWatch{cancel, make(chan int64, 1)}
	go func() {
		var most int64
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, descendants("/proc", os.Getpid()))
			select {
			case <-tick.C:
			case <-ctx.Done():
				w.most <- most
				return
			}
		}
	}()
	return w
}

// stop ends it and returns the most that was seen, in bytes.
func (w memoryWatch) stop() int64 {
	w.cancel()
	return <-w.most
}

// descendants is the proportional share of memory of all processes below pid.
func descendants(proc string, pid int) int64 {
	parents := map[int]int{}
	stats, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "stat"))
	for _, path := range stats {
		text, err := os.ReadFile(path)
		child, bad := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if parent, ok := parentOf(string(text)); ok && err == nil && bad == nil {
			parents[child] = parent
		}
	}
	var sum int64
	for child := range parents {
		if below(parents, child, pid) {
			sum += proportional(filepath.Join(proc, strconv.Itoa(child), "smaps_rollup"))
		}
	}
	return sum
}

// parentOf reads the parent from a stat line. The name before it is in
// parentheses and may hold anything.
func parentOf(stat string) (int, bool) {
	_, rest, ok := cutLast(stat, ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(fields[1])
	return n, err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func below(parents map[int]int, child, root int) bool {
	for range len(parents) {
		child = parents[child]
		if child == root {
			return true
		}
		if child == 0 {
			return false
		}
	}
	return false
}

// proportional is the Pss of a smaps_rollup file; 0 for a process that is gone.
func proportional(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "Pss:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

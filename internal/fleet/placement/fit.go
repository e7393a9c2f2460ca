package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The needs in the order in which they are looked at. What a worker lacks is the
// first that it does not meet; the worker that gets furthest is the nearest one.
const (
	lacksTarget = iota
	lacksHost
	lacksVersion
	lacksMemory
	lacksLabel
	isAvoided
	isClosed
	fits
)

// Fit reports whether a worker can run a task now, and by which of its targets: the
// fastest that will do.
func Fit(w *Worker, t *Task) (*Target, bool) {
	target, step := fit(w, &t.Needs)
	return target, step == fits && !slices.Contains(t.Avoid, w.ID) && w.Closed == ""
}

// fit is how far a worker gets with the needs, by the target that gets furthest.
func fit(w *Worker, n *Needs) (best *Target, step int) {
	for i := range w.Targets {
		t := &w.Targets[i]
		s := meets(w, t, n)
		faster := s == fits && best != nil && t.speed() > best.speed()
		if s > step || best == nil || s == step && faster {
			best, step = t, s
		}
	}
	return best, step
}

func (t *Target) speed() float64 {
	if t.Speed <= 0 {
		return 1
	}
	return t.Speed
}

// meets is how far one target of a worker gets.
func meets(w *Worker, t *Target, n *Needs) int {
	switch {
	case !sameTarget(t, n):
		return lacksTarget
	case n.Host != "" && n.Host != w.hostOf(t):
		return lacksHost
	}
	for name, want := range n.Versions {
		if want != t.Versions[name] {
			return lacksVersion
		}
	}
	if n.DeviceMemory > t.Memory && t.Memory > 0 || n.HostMemory > w.Memory && w.Memory > 0 {
		return lacksMemory
	}
	for _, label := range n.Labels {
		if !slices.Contains(w.Labels, label) {
			return lacksLabel
		}
	}
	return fits
}

// sameTarget asks for a browser only where the task names one.
func sameTarget(t *Target, n *Needs) bool {
	has := t.Target
	if n.Target.Browser == "" {
		has.Browser = ""
	}
	return has == n.Target
}

// short says what a target is short of, where it is versions, memory or labels.
func short(w *Worker, t *Target, n *Needs) string {
	for _, name := range slices.Sorted(maps.Keys(n.Versions)) {
		if want, has := n.Versions[name], t.Versions[name]; want != has {
			return fmt.Sprintf("%s %s (there is %s)", name, want, cmp.Or(has, "none"))
		}
	}
	if n.DeviceMemory > t.Memory && t.Memory > 0 {
		return fmt.Sprintf("%s of device memory (there are %s)", gib(n.DeviceMemory), gib(t.Memory))
	}
	if n.HostMemory > w.Memory && w.Memory > 0 {
		return fmt.Sprintf("%s of memory (there are %s)", gib(n.HostMemory), gib(w.Memory))
	}
	for _, label := range n.Labels {
		if !slices.Contains(w.Labels, label) {
			return "the label " + label
		}
	}
	return ""
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// Stuck is a task that no worker can run.
type Stuck struct {
	Task string
	// Missing says what would have to change, the nearest worker first.
	Missing []string
}

// String is one sentence.
func (s Stuck) String() string { return "nobody can run it: " + strings.Join(s.Missing, "; ") }

// Lacking says why none of the workers can run the task; nothing where one can.
func Lacking(workers []*Worker, t *Task) []string {
	if len(workers) == 0 {
		return []string{"no worker has joined"}
	}
	furthest := -1
	var reasons []string
	for _, w := range workers {
		step, why := lack(w, t)
		if step == fits {
			return nil
		}
		switch {
		case step > furthest:
			furthest, reasons = step, []string{why}
		case step == furthest && !slices.Contains(reasons, why):
			reasons = append(reasons, why)
		}
	}
	slices.Sort(reasons)
	const most = 3
	if n := len(reasons) - most; n > 0 {
		reasons = append(reasons[:most], fmt.Sprintf("and %d more reasons", n))
	}
	return reasons
}

// lack says in words what one worker is short of.
func lack(w *Worker, t *Task) (int, string) {
	target, step := fit(w, &t.Needs)
	switch {
	case step == lacksTarget:
		return step, "no worker has target " + t.Needs.Target.String()
	case step == lacksHost:
		return step, fmt.Sprintf("the files that it names are on host %s, and no worker there has target %s", t.Needs.Host, t.Needs.Target)
	case step != fits:
		return step, fmt.Sprintf("worker %s has %s but not %s", w.ID, t.Needs.Target, short(w, target, &t.Needs))
	case slices.Contains(t.Avoid, w.ID):
		return isAvoided, fmt.Sprintf("worker %s could, but it failed there", w.ID)
	case w.Closed != "":
		return isClosed, fmt.Sprintf("worker %s could, but %s", w.ID, w.Closed)
	}
	return fits, ""
}

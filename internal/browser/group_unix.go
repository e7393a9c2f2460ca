//go:build unix

package browser

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// group is a browser's process group, with what left the group and is still
// below it.
type group struct{ leader int }

func (g *group) prepare(cmd *exec.Cmd) { ownGroup(cmd) }

func (g *group) adopt(p *os.Process) error {
	g.leader = p.Pid
	return nil
}

// dying is how long killed processes may take to be gone.
const dying = 3 * time.Second

// kill kills the whole tree and waits until none of it runs. A process may
// fork just as it is killed, so it looks again.
func (g *group) kill() {
	for deadline := time.Now().Add(dying); ; time.Sleep(5 * time.Millisecond) {
		_ = syscall.Kill(-g.leader, syscall.SIGKILL)
		alive := g.processes()
		for _, p := range alive {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if len(alive) == 0 || time.Now().After(deadline) {
			return
		}
	}
}

// running is one process of the system.
type running struct {
	pid, parent, group int
	// Both are looked at only for the processes that are the browser's. shares
	// is memory with what others have too counted by its share, as far as that
	// is known.
	memory func() int64
	shares func() (int64, bool)
}

// processes returns the running processes of the group and all below its
// leader.
func (g *group) processes() []running { return below(g.leader, everyone()) }

// below picks a leader's group and descendants out of all processes.
func below(leader int, all []running) []running {
	children := map[int][]running{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	in := map[int]bool{}
	var picked []running
	var pick func(p running)
	pick = func(p running) {
		if in[p.pid] {
			return
		}
		in[p.pid] = true
		picked = append(picked, p)
		for _, c := range children[p.pid] {
			pick(c)
		}
	}
	for _, p := range all {
		if p.pid == leader || p.group == leader {
			pick(p)
		}
	}
	return picked
}

// memory is what the tree takes now; false where it is not known.
func (g *group) memory() (int64, bool) {
	var sum int64
	alive := g.processes()
	for _, p := range alive {
		sum += p.memory()
	}
	return sum, len(alive) > 0 && sum > 0
}

// twice is what memory counts more than once, because processes share it; false
// where it is not known.
func (g *group) twice() (int64, bool) {
	var sum int64
	alive := g.processes()
	for _, p := range alive {
		own, known := p.shares()
		if !known {
			return 0, false
		}
		sum += max(p.memory()-own, 0)
	}
	return sum, len(alive) > 0
}

// peak is not kept by the system: it is what was seen.
func (g *group) peak() (int64, bool) { return 0, false }

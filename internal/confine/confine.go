// Package confine holds what a worker's owner lets tasks do, and holds tasks to it.
//
// A Policy is a small JSON file: whether weights may be loaded and of which
// kind, whether a model's own code may run, how much memory and time a task gets, where
// it may write and read. Parts of it are decisions that the worker itself makes
// (weights, own code, time); the rest is enforced by the operating system on the runner,
// which no code of a model can undo.
//
// The runner is started by way of this same program: Wrap turns its command
// line into "PROGRAM confined -- …", and Become, in that process, takes on limits
// (rlimits, and a cgroup where the system delegates one) and landlock's rules and
// then becomes the runner. All its children inherit them. The program itself is not limited: a
// worker that may not allocate could not tell that its task could not.
//
// What the system does not have is said, not pretended: Plan lists what will hold and
// what will not. Elsewhere than on Linux only the worker's own decisions hold.
package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"assay/internal/runner"
)

// Verb is the command by which the program is asked to become a confined one.
const Verb = "confined"

// variable carries the order to the confined process, which takes it out of its environment.
const variable = "ASSAY_CONFINED"

// order is what the confined process is told.
type order struct {
	Limits   Limits   `json:"limits"`
	Landlock Landlock `json:"landlock"`
	Read     []string `json:"read,omitempty"`
	Write    []string `json:"write,omitempty"`
	Network  bool     `json:"network"`
	Group    string   `json:"group,omitempty"` // folder of a cgroup to be part of
}

// Confinement is a policy made ready on this machine.
type Confinement struct {
	program string
	order   order
	group   *group
}

// Ready makes a policy ready: program is this program's path, and writable are the folders that a
// runner needs beside those that the policy names. Close gives back what it took.
func Ready(p Policy, program string, writable ...string) (*Confinement, error) {
	c := &Confinement{program: program, order: order{
		Limits: p.Limits, Landlock: p.Landlock, Read: p.Read, Network: p.Network == nil || *p.Network,
		Write: slices.Concat(p.Write, writable),
	}}
	if err := supported(c.order); err != nil {
		return nil, err
	}
	if p.Limits.TotalMemory > 0 {
		g, err := newGroup(int64(p.Limits.TotalMemory))
		if err != nil {
			return nil, fmt.Errorf("the policy limits the memory of all tasks together (limits.total_memory): %w", err)
		}
		c.group, c.order.Group = g, g.dir
	}
	return c, nil
}

// Close removes the cgroup, which must be empty by then.
func (c *Confinement) Close() error {
	if c == nil || c.group == nil {
		return nil
	}
	return c.group.remove()
}

// Wrap is the command line by which a runner is started confined.
func (c *Confinement) Wrap(cmd runner.Command) runner.Command {
	b, err := json.Marshal(c.order)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	return runner.Command{
		Path: c.program, Args: append([]string{Verb, "--", cmd.Path}, cmd.Args...),
		Env: append(slices.Clone(env), variable+"="+string(b)), Dir: cmd.Dir,
	}
}

// Become takes on the order that the environment holds and becomes the program that args
// name after "--". It returns only if that fails.
func Become(args []string) error {
	text, told := os.LookupEnv(variable)
	if !told || len(args) < 2 || args[0] != "--" {
		return errors.New("this command is for the worker itself: it starts a runner within the limits of a policy")
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("read the limits: %w", err)
	}
	if err := os.Unsetenv(variable); err != nil {
		return err
	}
	return become(o, args[1], args[1:])
}

// Plan says what will hold on this machine, a line each.
func (c *Confinement) Plan() []string { return plan(c.order) }

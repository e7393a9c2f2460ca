// Package runner speaks the runner protocol (docs/protocol.md) with programs
// that run cells in child processes.
//
// A runner is one long-lived program; a job is one fresh child of it. The
// package has four layers, each an implementation or a decorator of the same
// small interface:
//
//   - protocol.go and events.go hold the messages, lines.go the bounded line
//     reader. They know nothing about processes.
//   - Process is one running program: it starts it, waits for its hello,
//     hands each line to the job it belongs to, and leaves nothing behind
//     when either side dies. What differs between systems is in group_*.go.
//   - Restarting keeps one Process alive over many jobs: a runner that dies
//     is replaced, one that cannot live is given up with its last output.
//   - Lowering tries a job whose child died of an illegal instruction once
//     more, with fewer instruction sets.
//
// Who kills whom: the runner kills a job's process group and says so with
// exit; Assay kills the runner, and the groups it knows of, only when the
// runner is dead, silent or breaks the protocol. The end of its standard
// input tells a runner that Assay is gone. Pdeathsig is not used on purpose:
// it would kill the runner before it could end its children's children, and
// it fires when the *thread* that started the runner ends, which in Go nobody
// controls.
//
// Package runnertest holds the conformance suite that every runner passes.
package runner

import (
	"context"
	"fmt"
	"strings"
)

// Runner runs jobs in children, each in its own process group.
//
// All methods may be called from any goroutine, and Run many times at once;
// how many jobs are sensible at once is the caller's matter. Whoever made the
// runner closes it, once all its Runs are to end.
type Runner interface {
	// Hello is what the runner said about itself when it started; for a
	// restarted runner, the newest.
	Hello() Hello

	// Run runs one job and returns when its child and the child's
	// whole process group are gone; a job with Reuse when it is done.
	//
	// on gets the job's events in order, from the goroutine that called Run;
	// nil ignores them. It must return soon: events of other jobs may wait
	// for it. The exit is returned, not passed to on.
	//
	// When ctx ends the child's group is killed; Run still waits for the
	// exit, whose Killed is "timeout" if the deadline was exceeded and
	// "cancelled" otherwise. A runner that does not answer within a grace is
	// killed itself.
	//
	// An error means that there is no Exit: a *LostError if the runner died
	// (the machine's failure, never the model's), a *GaveUpError if it cannot
	// be restarted, or ctx's error if ctx ended before the job was begun.
	Run(ctx context.Context, job Job, on func(Event)) (Exit, error)

	// Close ends the runner and all its children and waits until they are
	// gone. Jobs under way get a *LostError. Closing again does nothing.
	Close() error
}

// LostError says that the runner ended while a job was its to do: a failure
// of class environment.
type LostError struct {
	Why     string // a clause: "the runner ended with exit status 3"
	Started bool   // whether the job's child had begun
	Stderr  string // the runner's last output, at most 64 KiB
}

// Error gives the reason and the last line that the runner printed.
func (e *LostError) Error() string {
	return e.Why + lastWords(e.Stderr)
}

// GaveUpError says that the runner died again and again, or could not be
// started, and is not tried for a while.
type GaveUpError struct {
	Deaths int
	Stderr string
	Err    error // why it ended the last time
}

// Error says how often it was tried and why it ended.
func (e *GaveUpError) Error() string {
	return fmt.Sprintf("the runner died %d times in a row without finishing a job, and is not started again for a while: %v", e.Deaths, e.Err)
}

// Unwrap returns why the runner ended the last time.
func (e *GaveUpError) Unwrap() error { return e.Err }

// StartError says why a runner could not be started.
type StartError struct {
	Command string
	Stderr  string // what it printed, at most 64 KiB
	Err     error
}

// Error names the command, the reason and the last line that it printed.
func (e *StartError) Error() string {
	return fmt.Sprintf("cannot start the runner %s: %v%s", e.Command, e.Err, lastWords(e.Stderr))
}

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// lastWords is the last line of s that says something, as a clause.
func lastWords(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	const most = 300
	if len(last) > most {
		last = strings.ToValidUTF8(last[:most], "") + "…"
	}
	return "; its last output: " + last
}

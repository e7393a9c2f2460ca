package runner

import (
	"context"
	"fmt"
	"maps"
	"syscall"

	"assay/internal/cell"
)

// Again says that the child died and that its job is tried once more: what the
// child had said is to be forgotten. It comes from Lowering, not from a runner.
type Again struct {
	Why string // a clause: "tried again with …"
}

func (Again) event() {}

// AtLevel says with which level of instruction sets the job's child is started; ""
// is none. It comes before all that the child says, from Lowering.
type AtLevel struct{ Level string }

func (AtLevel) event() {}

// Levels says what a Lowering may lower. Its functions may be called from any
// goroutine.
type Levels struct {
	Variable string                    // of the environment, that holds the level
	Now      func() string             // the level in force on this host; "" is none
	Below    func(level string) string // the next lower one; "" when there is none
	// Bounds reports whether a job computes with what reads the variable: no
	// other is tried again.
	Bounds func(Job) bool
	// Lived is told that a job's child died at one level and was through at the
	// next: the host should remember that.
	Lived func(c cell.Cell, died, lived string)
}

// Lowering is a Runner that gives each job's child the host's level of
// instruction sets, and that tries a job once more at the next lower level when
// its child dies of an illegal instruction. A library may end a process that way
// for reasons of its own: only a child that lives at the lower level lowers the
// host's.
type Lowering struct {
	Runner
	Levels Levels
}

// Run runs one job; see Runner.
func (l Lowering) Run(ctx context.Context, job Job, on func(Event)) (Exit, error) {
	if on == nil {
		on = func(Event) {}
	}
	level, said := l.Levels.Now(), answered{left: max(1, len(job.Points))}
	on(AtLevel{level})
	exit, err := l.Runner.Run(ctx, l.at(job, level), func(e Event) {
		said.hear(e)
		on(e)
	})
	lower := l.Levels.Below(level)
	// What was reported stands, however the child ended later.
	if err != nil || !exit.Illegal() || said.left <= 0 || lower == "" || !l.Levels.Bounds(job) || ctx.Err() != nil {
		return exit, err
	}
	on(Again{Why: fmt.Sprintf("tried again with %s=%s after an illegal instruction (SIGILL)", l.Levels.Variable, lower)})
	on(AtLevel{lower})
	exit, err = l.Runner.Run(ctx, l.at(job, lower), on)
	if err == nil && exit.Outcome() == Finished {
		l.Levels.Lived(job.Cell, level, lower)
	}
	return exit, err
}

// at is the job with the level in its child's environment. A child that carries
// several jobs out has read its own already: those of a level keep together.
func (l Lowering) at(job Job, level string) Job {
	if level != "" {
		if job.Reuse != "" {
			job.Reuse += " " + level
		}
		env := maps.Clone(job.Env)
		if env == nil {
			env = map[string]string{}
		}
		env[l.Levels.Variable] = level
		job.Env = env
	}
	return job
}

// answered counts what a child still owes.
type answered struct{ left int }

func (a *answered) hear(e Event) {
	switch e.(type) {
	case PointDone:
		a.left--
	case Data:
		a.left = 0
	}
}

// Illegal says that the child died of an illegal instruction.
func (e Exit) Illegal() bool { return e.Outcome() == Signalled && e.Signal == int(syscall.SIGILL) }

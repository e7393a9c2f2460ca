package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Command says how a runner is started. It is never a shell's line.
type Command struct {
	Path string   // the program
	Args []string // its arguments, without its name
	Env  []string // "KEY=value", all of its environment; nil is ours
	Dir  string   // its working directory; "" is ours
}

// Limits are how long a runner may take over what it must do promptly.
// Zero fields have defaults.
type Limits struct {
	Start time.Duration // until hello: imports may come from a cold disk; 3 minutes
	Grace time.Duration // from a kill to its exit, and from bye to the end; 5 seconds
}

func (l Limits) normal() Limits {
	if l.Start == 0 {
		l.Start = 3 * time.Minute
	}
	if l.Grace == 0 {
		l.Grace = 5 * time.Second
	}
	return l
}

// Process is one running runner program. It implements Runner; once the
// program is dead every Run gives a *LostError.
type Process struct {
	command Command
	limits  Limits
	cmd     *exec.Cmd
	group   *group
	stderr  *tail
	stdin   *os.File
	stdout  *os.File
	hello   Hello

	out    chan []byte   // lines for the writing goroutine
	exited chan struct{} // closed when the program itself has ended
	done   chan struct{} // closed when nothing of it is left and every job has been told

	mu      sync.Mutex
	jobs    map[string]*running
	lastID  int
	why     string // why the runner ended, as far as we caused or saw it
	closing bool
	dead    bool
}

// Start starts a runner and returns when it has said hello. ctx and
// limits.Start bound only the start; the runner lives until Close. A runner
// that cannot be used is a *StartError, and nothing of it is left.
func Start(ctx context.Context, command Command, limits Limits) (*Process, error) {
	p := &Process{
		command: command,
		limits:  limits.normal(),
		stderr:  &tail{},
		out:     make(chan []byte, 64),
		exited:  make(chan struct{}),
		done:    make(chan struct{}),
		jobs:    map[string]*running{},
	}
	if err := p.launch(); err != nil {
		return nil, p.startError(err)
	}
	first := make(chan error, 1)
	go p.write()
	go p.wait()
	go p.read(first)
	limit := time.NewTimer(p.limits.Start)
	defer limit.Stop()
	var err error
	select {
	case err = <-first:
	case <-limit.C:
		err = fmt.Errorf("it was not ready within %v", p.limits.Start)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		p.end(err.Error())
		<-p.done
		return nil, p.startError(err)
	}
	return p, nil
}

func (p *Process) startError(err error) error {
	return &StartError{Command: p.command.Path, Stderr: p.stderr.String(), Err: err}
}

// launch starts the program with a pipe at each of its standard streams.
func (p *Process) launch() error {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inRead.Close(), inWrite.Close())
	}
	p.stdin, p.stdout = inWrite, outRead
	p.cmd = exec.Command(p.command.Path, p.command.Args...)
	p.cmd.Env = p.command.Env
	p.cmd.Dir = p.command.Dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inRead, outWrite, p.stderr
	// A stray that holds the runner's standard error must not hold us.
	p.cmd.WaitDelay = time.Second
	p.group, err = startGroup(p.cmd)
	err = errors.Join(err, inRead.Close(), outWrite.Close())
	if err != nil {
		return errors.Join(err, inWrite.Close(), outRead.Close())
	}
	return nil
}

// write hands lines to the runner, so that nobody else waits for a runner
// that does not read.
func (p *Process) write() {
	for {
		select {
		case line := <-p.out:
			if _, err := p.stdin.Write(line); err != nil {
				return // it is dead or dying; read sees its end
			}
		case <-p.done:
			return
		}
	}
}

// wait reaps the program itself, and does not let its output stay open for
// long after it: a process that inherited it would keep read waiting.
func (p *Process) wait() {
	err := p.cmd.Wait()
	p.note(ending(p.cmd.ProcessState, err))
	close(p.exited)
	select {
	case <-p.done:
	case <-time.After(p.limits.Grace):
		p.group.kill()
		p.stdout.Close()
	}
}

func ending(state *os.ProcessState, err error) string {
	if state == nil {
		return fmt.Sprintf("the runner was lost: %v", err)
	}
	return fmt.Sprintf("the runner ended (%v)", state)
}

// read is the only reader: it hands every line to its job, and when the lines
// end it sees to it that nothing is left.
func (p *Process) read(first chan<- error) {
	lines := newLineReader(p.stdout, MaxLine)
	err := p.greet(lines)
	first <- err
	for err == nil {
		var line []byte
		if line, err = lines.next(); err == nil {
			err = p.deliver(line)
		}
	}
	var violation *violationError
	if errors.As(err, &violation) || errors.Is(err, errLineTooLong) {
		p.end(fmt.Sprintf("the runner broke the protocol and was killed: %v", err))
	}
	p.bury()
}

// violationError is a line that no runner may write.
type violationError struct{ err error }

func (e *violationError) Error() string { return e.err.Error() }
func (e *violationError) Unwrap() error { return e.err }

// greet takes the hello and refuses a runner that speaks another version.
func (p *Process) greet(lines *lineReader) error {
	line, err := lines.next()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		<-p.exited
		return errors.New("it ended before it was ready")
	}
	if err != nil {
		return err
	}
	m, err := decode(line)
	if err != nil {
		return fmt.Errorf("its first line is not a hello: %w", err)
	}
	if m.hello == nil {
		return fmt.Errorf("its first line is not a hello: %s", excerpt(line))
	}
	p.hello = *m.hello
	switch v := p.hello.Protocol; {
	case v > Version:
		return fmt.Errorf("it uses version %d of the runner protocol and this assay version %d: update assay", v, Version)
	case v < Version:
		return fmt.Errorf("it uses version %d of the runner protocol and this assay version %d: update the runner", v, Version)
	}
	return nil
}

// deliver hands one line to the job that it belongs to.
func (p *Process) deliver(line []byte) error {
	m, err := decode(line)
	if err != nil {
		return &violationError{err}
	}
	if m.hello != nil {
		return &violationError{errors.New("it said hello twice")}
	}
	p.mu.Lock()
	job := p.jobs[m.id]
	if m.exit != nil {
		delete(p.jobs, m.id)
	}
	p.mu.Unlock()
	if job == nil {
		return &violationError{fmt.Errorf("%s is about a job that is not running", excerpt(line))}
	}
	if started, ok := m.event.(Started); ok {
		job.started.Store(true)
		job.pgid.Store(int64(started.PGID))
	}
	job.messages <- m
	return nil
}

// bury waits for the program's end, kills what it left behind, and tells
// every job under way.
func (p *Process) bury() {
	p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(p.limits.Grace):
		p.end("the runner closed its output but did not exit, and was killed")
		<-p.exited
	}
	p.group.close()
	p.stdout.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, job := range p.jobs {
		if pgid := int(job.pgid.Load()); pgid > 1 {
			killGroup(pgid)
		}
		close(job.messages)
	}
	p.jobs = nil
	close(p.done)
}

// note keeps the first reason for the runner's end: later ones follow from it.
func (p *Process) note(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == "" {
		p.why = why
	}
}

// patience is how long a runner that was told to end may take to end its
// children before it is killed.
const patience = 1500 * time.Millisecond

// end makes the runner end now, with everything below it if it still can.
func (p *Process) end(why string) {
	p.note(why)
	p.group.terminate()
	time.AfterFunc(patience, func() {
		select {
		case <-p.exited:
		default:
			p.group.kill()
		}
	})
}

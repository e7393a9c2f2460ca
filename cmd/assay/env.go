package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"assay/internal/clean"
	"assay/internal/detect"
	"assay/internal/plan"
	"assay/internal/release"
	"assay/internal/session"
	"assay/internal/sides"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// env is everything outside the program that a command touches, so that a test
// can give its own.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        func() []string
	terminal       bool // stderr is one: progress bars rather than lines
	colour         bool // stdout is a terminal that wants colours
	width          int
	cpuinfo        string // the file that describes the processor
	// The machine that cells are to run on, and what its engines say about it; nil
	// are this one, and what they say when they are asked.
	machine *detect.Machine
	engines detect.Answers
}

// system is the real outside.
func system() *env {
	width := 100
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 20 {
		width = w
	}
	return &env{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, environ: os.Environ,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		colour:   term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		width:    width,
		cpuinfo:  "/proc/cpuinfo",
	}
}

// The exit statuses, the same for every command.
const (
	exitOK          = 0
	exitProgram     = 1 // the program failed
	exitUsage       = 2
	exitFails       = 3   // some cell fails, or is partial with --strict
	exitUnavailable = 4   // asked hardware is not there, or Assay cannot use it for the model, with --strict
	exitNothing     = 5   // nothing could be compared
	exitInterrupted = 130 // as a shell has it
)

const exitHelp = `
Exit status: 0 all requested cells work, are partial, or are unavailable without --strict;
1 the program failed, or the machine broke under a cell; 2 wrong usage; 3 some cell fails (or is partial, with --strict);
4 requested hardware is not present, or Assay cannot run the model on it (with --strict);
130 interrupted, what was finished is kept.`

// statusError carries an exit status with an error. A nil err prints nothing:
// the command has already said everything.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// run carries one command line out and returns the exit status.
func run(ctx context.Context, e *env, args []string) int {
	ctx, stop := session.Interruptible(ctx)
	defer stop()
	cmd := root(e)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var status *statusError
	var wrong *plan.RequestError
	var side *release.SideError
	var compared *sides.Error
	var empty *sides.EmptyError
	switch {
	case errors.As(err, &status):
	case errors.As(err, &wrong), errors.As(err, &side), errors.As(err, &compared):
		status = &statusError{exitUsage, err}
	case errors.As(err, &empty):
		status = &statusError{exitNothing, err}
	default:
		status = &statusError{exitProgram, err}
	}
	if cause := context.Cause(ctx); errors.Is(cause, session.ErrInterrupted) {
		status = &statusError{exitInterrupted, session.ErrInterrupted}
	}
	if status.err != nil {
		fmt.Fprintf(e.stderr, "assay: %s\n", clean.Text(strings.TrimSpace(status.err.Error())))
	}
	return status.status
}

// logger writes to stderr: warnings always, details with -v or LOGLEVEL.
func (e *env) logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if s := e.getenv("LOGLEVEL"); s != "" {
		_ = level.UnmarshalText([]byte(s)) // an unknown word leaves the default
	}
	if verbose {
		level = slog.LevelDebug
	}
	if e.terminal {
		return slog.New(tint.NewTextHandler(e.stderr, &tint.Options{Level: level, TimeFormat: "15:04:05"}))
	}
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
}

//go:build !windows

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadingEnds: whatever is named as a file, the program ends: at once where
// there is nothing to wait for, else with the first signal.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"test", "--plan", pipe}, {"import", pipe}, {"test", "--plan", "/dev/zero"}, {"import", "/dev/zero"},
		{"--db", pipe, "query"}, {"test", filepath.Dir(pipe)},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			out, err, status := finish(t, p.command(ctx, args...))
			if status != exitUsage && status != exitProgram {
				t.Errorf("status %d: %s%s", status, out, err)
			}
		})
	}
}

// TestReadingStdinHearsSignals: nobody types the plan, and Ctrl-C is enough.
func TestReadingStdinHearsSignals(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	silent, mute, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := p.command(ctx, "test", "--plan", "-")
	cmd.Stdin = silent
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	silent.Close()
	// It reads, so it hears: more than a pipe holds is written only when the
	// program has begun to take it.
	if _, err := mute.Write(bytes.Repeat([]byte(" "), 256<<10)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status tells
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
}

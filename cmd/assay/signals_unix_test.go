//go:build !windows

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/journal"
)

// left names the processes that belong to a program's folders: they inherit
// its ASSAY_HOME. Only Linux shows other processes' variables.
func left(p *program) []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), "ASSAY_HOME="+p.vars["ASSAY_HOME"]+"\x00") {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			out = append(out, f+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// checkNoneLeft wants every process gone within a second; a busy machine is
// given a little more.
func checkNoneLeft(t *testing.T, p *program) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Second)
	for {
		processes := left(p)
		if len(processes) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left:\n%s", strings.Join(processes, "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// waitForChild waits until the program has started another process: only then
// does a pause say which phase it is in, however busy the machine is. Where
// processes cannot be seen it does not wait long.
func waitForChild(p *program) {
	for deadline := time.Now().Add(20 * time.Second); len(left(p)) < 2 && time.Now().Before(deadline); {
		if runtime.GOOS != "linux" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestInterrupt: Ctrl-C in every phase stops cleanly with status 130, keeps
// what is finished and leaves no process.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		signal   syscall.Signal
		results  int // finished before the signal
		pause    time.Duration
		command  string
		task     string
		finished bool // whether the journal has to hold something
	}{
		{"starting", syscall.SIGINT, 0, 60 * time.Millisecond, "test", "sleep", false},
		{"started", syscall.SIGINT, 0, 300 * time.Millisecond, "test", "sleep", false},
		{"hanging", syscall.SIGINT, 0, time.Second, "test", "hang", false},
		{"after a result", syscall.SIGINT, 1, 0, "test", "sleep", true},
		{"terminated", syscall.SIGTERM, 3, 0, "test", "sleep", true},
		{"timing", syscall.SIGINT, 0, 2500 * time.Millisecond, "bench", "sleep", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.ok(t, "test", "--plan", p.noops(t, "nothing", 1)) // unpacked, so that phases come in time
			run := p.start(t, tc.command, "--plan", p.noops(t, tc.task, 12))
			run.after(t, tc.results)
			if tc.name != "starting" {
				waitForChild(p)
			}
			time.Sleep(tc.pause)
			if err := run.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			more, status := run.end()
			ended := run.ProcessState.Sys().(syscall.WaitStatus)
			if status != exitInterrupted && (tc.name != "starting" || !ended.Signaled()) {
				t.Errorf("status %d (%v), want %d\n%s", status, run.ProcessState, exitInterrupted, run.stderr.String())
			}
			if status == exitInterrupted && !strings.Contains(run.stderr.String(), "interrupted: what was finished is kept") {
				t.Errorf("it said %q", run.stderr.String())
			}
			checkNoneLeft(t, p)
			if n := p.count(t); tc.finished && n < 1+tc.results || n > 1+tc.results+more {
				t.Errorf("%d results are stored; %d were finished before the signal, %d after", n-1, tc.results, more)
			}
		})
	}
}

// TestKill: kill -9 in a sweep leaves no process, a whole journal, and every
// finished result; the next run goes on as if nothing had been.
func TestKill(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	run := p.start(t, "test", "--workers", "4", "--plan", p.noops(t, "sleep", 60))
	run.after(t, 3)
	if len(left(p)) < 2 {
		t.Skip("this system does not show which processes belong to the program")
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	more, _ := run.end()
	checkNoneLeft(t, p)
	files, err := filepath.Glob(filepath.Join(p.vars["ASSAY_HOME"], "data", "journals", "*"+journal.Extension))
	if err != nil || len(files) != 1 {
		t.Fatalf("journals %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for line := range strings.Lines(string(b)) {
		if strings.HasSuffix(line, "\n") && json.Valid([]byte(line)) && strings.Contains(line, `"kind":"result"`) {
			whole++
		}
	}
	if whole < 3+more {
		t.Errorf("the journal holds %d results, %d were printed", whole, 3+more)
	}
	if n := p.count(t); n != whole {
		t.Errorf("%d results can be asked for, the journal holds %d", n, whole)
	}
	p.ok(t, "test", "--plan", p.noops(t, "nothing", 1))
	if n := p.count(t); n != whole+1 {
		t.Errorf("%d results after another run, want %d", n, whole+1)
	}
}

// TestTwoAtOnce: questions and another sweep while a sweep runs.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	sweep := p.start(t, "test", "--workers", "2", "--plan", p.noops(t, "sleep", 6))
	for seen := 1; seen <= 3; seen++ {
		sweep.after(t, 1)
		if n := p.count(t); n < seen {
			t.Errorf("%d results while %d are finished", n, seen)
		}
	}
	p.ok(t, "test", "--plan", p.noops(t, "nothing", 5))
	if _, status := sweep.end(); status != exitOK {
		t.Errorf("the sweep ended with status %d\n%s", status, sweep.stderr.String())
	}
	if n := p.count(t); n != 11 {
		t.Errorf("%d results, want 11", n)
	}
}

// TestFullDisk: a journal that cannot grow stops the run with a sentence, and
// what was finished is kept.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.ok(t, "test", "--plan", p.noops(t, "nothing", 1)) // unpacked before there is no room
	plan := p.noops(t, "nothing", 100)
	stdout, stderr, status := finish(t, shell(t, p, "ulimit -f 80 && exec assay test --plan "+filepath.Base(plan)))
	if status != exitProgram || !strings.Contains(stderr, "the disk is full") || !strings.Contains(stderr, "what was finished is kept") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	n := p.count(t)
	if finished := strings.Count(stdout, "works "); n < 2 || n > 100 || n != 1+finished {
		t.Errorf("%d results are kept, %d were printed", n-1, finished)
	}
	checkNoneLeft(t, p)
	if text := p.ok(t, "db", "rebuild"); !strings.Contains(text, "rebuilt") {
		t.Error(text)
	}
	if again := p.count(t); again != n {
		t.Errorf("%d results after rebuilding, %d before", again, n)
	}
}

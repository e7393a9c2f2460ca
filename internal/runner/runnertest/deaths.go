package runnertest

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/runner"
)

// helperVariable names the file in which a helper process describes its
// processes; when it is set, Run is that helper.
const helperVariable = "ASSAY_RUNNERTEST_HELPER"

// family is a runner with jobs under way: a child that ignores signals, and
// one that has a child of its own in another session.
type family struct {
	PIDs   []int // everything that must be gone after a death
	errors chan error
}

// raiseFamily starts the jobs and returns when all processes exist.
func raiseFamily(t *testing.T, r runner.Runner) family {
	f := family{PIDs: []int{r.Hello().PID}, errors: make(chan error, 3)}
	pids := make(chan int, 6)
	tell := func(e runner.Event) {
		switch e := e.(type) {
		case runner.Started:
			pids <- e.PID
		case runner.Data:
			pids <- pidOf(t, []runner.Data{e})
		}
	}
	for _, job := range []runner.Job{
		noop("hang", nil),
		noop("grandchild", map[string]any{"stay": true}),
		noop("grandchild", map[string]any{"stay": true, "session": true}),
	} {
		go func() {
			_, err := r.Run(t.Context(), job, tell)
			f.errors <- err
		}()
	}
	for range 5 {
		select {
		case pid := <-pids:
			f.PIDs = append(f.PIDs, pid)
		case <-time.After(limit):
			t.Fatal("the jobs did not begin")
		}
	}
	return f
}

func (f family) expectLost(t *testing.T) {
	t.Helper()
	for range 3 {
		select {
		case err := <-f.errors:
			var lost *runner.LostError
			if !errors.As(err, &lost) || !lost.Started {
				t.Errorf("a job under way got %v, want a LostError that says that it had begun", err)
			}
		case <-time.After(limit):
			t.Fatal("a job of a dead runner did not end")
		}
	}
}

func (s suite) closeWhileBusy(t *testing.T) {
	r := s.start(t)
	f := raiseFamily(t, r)
	start := time.Now()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*soon {
		t.Errorf("closing took %v", took)
	}
	expectGone(t, f.PIDs...)
	f.expectLost(t)
}

func (s suite) runnerKilled(t *testing.T) {
	r := s.start(t)
	defer closeRunner(t, r)
	f := raiseFamily(t, r)
	before := r.Hello().PID
	kill(t, before)
	expectGone(t, f.PIDs...)
	f.expectLost(t)
	_, exit := run(t, r, noop("nothing", nil))
	expectOutcome(t, exit, runner.Finished)
	if after := r.Hello().PID; after == before {
		t.Errorf("the runner still calls itself process %d, which was killed", after)
	}
}

func (s suite) closed(t *testing.T) {
	r := s.start(t)
	closeRunner(t, r)
	closeRunner(t, r)
	var lost *runner.LostError
	if _, err := r.Run(t.Context(), noop("nothing", nil), nil); !errors.As(err, &lost) {
		t.Errorf("a closed runner gave %v, want a LostError", err)
	}
}

// assayKilled kills the process that holds the runner: a copy of this test.
func (s suite) assayKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "processes")
	parent := strings.TrimSuffix(t.Name(), "/"+filepath.Base(t.Name()))
	pattern := "^" + strings.ReplaceAll(parent, "/", "$/^") + "$"
	helper := exec.Command(self, "-test.run="+pattern, "-test.count=1")
	helper.Env = append(os.Environ(), helperVariable+"="+file)
	var printed strings.Builder
	helper.Stdout, helper.Stderr = &printed, &printed
	helper.WaitDelay = soon
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	pids := waitForPIDs(file)
	_ = helper.Process.Kill()
	expectGone(t, pids...)
	_ = helper.Wait()
	if len(pids) == 0 {
		t.Fatalf("the helper process did not get its jobs going: %s", &printed)
	}
}

// beHelper holds a busy runner until it is killed.
func beHelper(t *testing.T, start func(t *testing.T) runner.Runner, file string) {
	f := raiseFamily(t, start(t))
	b, err := json.Marshal(f.PIDs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".part", b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".part", file); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * limit)
	t.Fatal("nobody killed the helper")
}

func waitForPIDs(file string) []int {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(file)
		var pids []int
		if err == nil && json.Unmarshal(b, &pids) == nil {
			return pids
		}
	}
	return nil
}

// expectGone fails if one of the processes is there a second from now.
func expectGone(t *testing.T, pids ...int) {
	t.Helper()
	end := time.Now().Add(soon)
	for _, pid := range pids {
		for exists(pid) {
			if time.Now().After(end) {
				t.Errorf("process %d is still there after %v: %s", pid, soon, describe(pid))
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

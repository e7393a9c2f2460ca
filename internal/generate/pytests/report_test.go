package pytests

import (
	"context"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// junit is what pytest 9 writes, cut to what is read.
const junit = `<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="5">
<testcase classname="test_a" name="test_one" time="0.5" />
<testcase classname="test_a" name="test_two" time="0.25"><failure message="assert 1 == 2&#10; + where">long</failure></testcase>
<testcase classname="sub.test_b" name="test_one" time="0.1"><skipped type="pytest.skip" message="cuda: torch sees no such device" /></testcase>
<testcase classname="" name="test_c" time="0.0"><error message="collection failure">ImportError</error></testcase>
</testsuite></testsuites>`

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := read([]byte(junit), []string{"test_a.py", "test_b.py", "test_c.py", "test_d.py"})
	want := []Result{
		{File: "test_a.py", Passed: 1, Failed: 1, Why: "test_two: assert 1 == 2", Seconds: 0.75},
		{File: "test_b.py", Skipped: 1, Why: "test_one: cuda: torch sees no such device", Seconds: 0.1},
		{File: "test_c.py", Failed: 1, Why: "test_c: collection failure"},
		{File: "test_d.py", Failed: 1, Why: "pytest found no test in it"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got, %v)\n%s", err, diff)
	}
	if _, err := read([]byte("<testsuites"), nil); err == nil {
		t.Error("a report that was cut is read")
	}
	for i, ok := range []bool{false, true, false, false} {
		if got[i].OK() != ok {
			t.Errorf("%s is said to be ok: %v", got[i].File, !ok)
		}
	}
}

// TestDeadProcess: a process that dies leaves no report; its files are then run
// one by one, and each is told.
func TestDeadProcess(t *testing.T) {
	t.Parallel()
	var told, tried []string
	r := Runner{
		Python: func(ctx context.Context, args ...string) *exec.Cmd {
			tried = append(tried, args[len(args)-1])
			return exec.CommandContext(ctx, "go", "no-such-command")
		},
		Dir: t.TempDir(), Workers: 1, Done: func(r Result) { told = append(told, r.File) },
	}
	files := []string{"test_a.py", "test_b.py"}
	found, err := r.Run(t.Context(), files)
	if err != nil || len(found) != 2 || found[0].OK() || found[1].Why == "" || !slices.Equal(told, files) {
		t.Errorf("%+v, %v; told %v", found, err, told)
	}
	if want := []string{"test_b.py", "test_a.py", "test_b.py"}; !slices.Equal(tried, want) {
		t.Errorf("pytest was started for %v, want %v", tried, want)
	}
}

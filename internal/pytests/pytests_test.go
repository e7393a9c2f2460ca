package pytests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const junit = `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest">
<testcase classname="test_hf_a" name="test_loads[cpu]"/>
<testcase classname="test_hf_a.TestMine" name="test_batch[cpu]"><failure message="AssertionError: off&#10;more">long</failure></testcase>
<testcase classname="some.folder.test_hf_b" name="test_loads[cpu]"><skipped type="pytest.skip" message="cuda: none"/></testcase>
<testcase classname="" name="test_hf_c"><error message="collection failure">SyntaxError</error></testcase>
<testcase classname="test_hf_other" name="test_loads[cpu]"/>
</testsuite></testsuites>`

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junit.xml")
	if err := os.WriteFile(path, []byte(junit), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := read(path, []string{"test_hf_a.py", "test_hf_b.py", "test_hf_c.py"})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := files[0], files[1], files[2]
	if a.Passed != 1 || len(a.Failed) != 1 || a.Failed[0] != (Case{"test_batch[cpu]", "AssertionError: off"}) || a.Green() {
		t.Errorf("a is %+v", a)
	}
	if !b.Idle() || b.Skipped[0].Why != "cuda: none" {
		t.Errorf("b is %+v", b)
	}
	if c.Green() || len(c.Failed) != 1 {
		t.Errorf("c is %+v", c)
	}
}

// TestADeadProcess: a file that kills its process is found, and the others are
// run anyway.
func TestADeadProcess(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	names := []string{"test_hf_a.py", "test_hf_dead.py", "test_hf_b.py", "test_hf_c.py"}
	r := Run{Workers: 1, Limit: time.Minute, Dir: t.TempDir(), Python: pytest}
	files, err := r.Files(context.Background(), names)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if dead := strings.Contains(f.Name, "dead"); f.Green() == dead {
			t.Errorf("%s: %+v", f.Name, f)
		}
	}
	if len(files) != len(names) {
		t.Errorf("%d files are told of, not %d", len(files), len(names))
	}
}

// pytest is a program that passes every file it is given, and dies of one.
func pytest(ctx context.Context, args ...string) *exec.Cmd {
	script := `
for a in "$@"; do case "$a" in *dead*) exit 139;; esac; done
while [ "$1" != --junitxml ]; do shift; done
out=$2; shift 2
{ echo '<testsuites><testsuite>'
for a in "$@"; do echo "<testcase classname='${a%.py}' name='test_loads[cpu]'/>"; done
echo '</testsuite></testsuites>'; } > "$out"`
	return exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
}

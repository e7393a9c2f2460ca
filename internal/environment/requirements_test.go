package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/runtimes/python"
)

func TestParseLock(t *testing.T) {
	t.Parallel()
	got := ParseLock([]byte("# a comment\nMarkup_Safe==3.0.4 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\ncolorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:22\nplain==1\n"))
	want := []Requirement{{"markup-safe", "3.0.4", "", 2}, {"colorama", "0.4.6", "sys_platform == 'win32'", 1}, {"plain", "1", "", 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLocks holds the real locks to what the installers need of them.
func TestLocks(t *testing.T) {
	t.Parallel()
	for lock, must := range map[string][]string{
		string(python.Requirements()): {"torch", "transformers", "timm", "numpy", "safetensors", "pytest", "ruff"},
		string(python.Boot()):         {"uv"},
	} {
		found := map[string]bool{}
		for _, r := range ParseLock([]byte(lock)) {
			found[r.Name] = true
			if r.Hashes == 0 {
				t.Errorf("%s has no hash", r.Name)
			}
			if r.Name == "torchaudio" {
				t.Error("torchaudio makes transformers raise on import, see docs/architecture.md")
			}
		}
		for _, name := range must {
			if !found[name] {
				t.Errorf("%s is not locked", name)
			}
		}
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add("a==1 ; x \\\n --hash=sha256:00\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range ParseLock([]byte(text)) {
			if r.Version == "" || strings.ContainsAny(r.Name, "_.[") {
				t.Errorf("%q gave %+v", text, r)
			}
		}
	})
}

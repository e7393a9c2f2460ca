//go:build unix

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page may hold anybody's code: no browser sees what the user's shell keeps
// secret, and each still finds its libraries.
func TestBrowsersSeeNoSecrets(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden-1")
	t.Setenv("HF_TOKEN", "hidden-2")
	t.Setenv("LD_LIBRARY_PATH", "/seen-1")
	for _, kind := range []string{Packed, Firefox} {
		o, _ := script(t, "env > seen")
		o.Kind, o.Env = kind, []string{"GIVEN=seen-2"}
		if b, err := Start(t.Context(), o); err == nil {
			_ = b.Close()
			t.Errorf("%s: what is not a browser was started", kind)
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(o.Path), "seen"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"seen-1", "seen-2", "PATH="} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s: %s is missing of\n%s", kind, want, b)
			}
		}
		if strings.Contains(string(b), "hidden") {
			t.Errorf("%s sees a secret:\n%s", kind, b)
		}
	}
}

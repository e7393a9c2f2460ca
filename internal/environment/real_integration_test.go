//go:build integration

package environment

import (
	"os"
	"strings"
	"testing"
)

// TestIntegrationManaged looks at the environment that `assay setup` made: it
// is whole, and its Python sees the runner and torch.
func TestIntegrationManaged(t *testing.T) {
	t.Parallel()
	folders, err := FindFolders(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	m := New(folders, os.Environ(), func(s string) { t.Log(s) })
	env, err := m.Open(t.Context(), Choice{NoSetup: true})
	if err != nil {
		t.Fatalf("%v (make setup makes it)", err)
	}
	content, err := m.Inspect(env)
	if err != nil || !content.Whole() {
		t.Errorf("not whole: %+v, %v", content, err)
	}
	has, err := inventory(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ParseLock(m.lock) {
		if (r.Name == "torch" || r.Name == "transformers") && has.Versions[r.Name] != r.Version {
			t.Errorf("%s is %q, locked is %s", r.Name, has.Versions[r.Name], r.Version)
		}
	}
	// The interpreter, taken as if it were the user's own, is one.
	user, err := m.User(t.Context(), env.Python)
	if err != nil || user.Managed || !strings.HasPrefix(user.ID, "user-") {
		t.Errorf("as the user's own: %+v, %v", user, err)
	}
}

package web

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

type lock struct {
	Packages map[string]struct {
		Version      string            `json:"version"`
		Resolved     string            `json:"resolved"`
		Integrity    string            `json:"integrity"`
		Link         bool              `json:"link"`
		Dependencies map[string]string `json:"dependencies"`
	} `json:"packages"`
}

// TestLocks: every package has an exact version and a hash, and none an
// address: the user's settings decide where packages come from.
func TestLocks(t *testing.T) {
	t.Parallel()
	exact := regexp.MustCompile(`^(\d+\.\d+\.\d+|file:absent)$`)
	for name, tree := range map[string]fs.FS{"packages": Packages(), "chromium": Chromium()} {
		text, err := fs.ReadFile(tree, "package-lock.json")
		if err != nil {
			t.Fatal(err)
		}
		var l lock
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.Contains(string(text), "://registry") {
			t.Errorf("%s: the lock names an address", name)
		}
		for path, p := range l.Packages {
			if strings.HasPrefix(path, "node_modules/") && !p.Link && (p.Version == "" || p.Integrity == "" || p.Resolved != "") {
				t.Errorf("%s: %s is not locked by version and hash alone: %+v", name, path, p)
			}
		}
		if len(l.Packages[""].Dependencies) == 0 {
			t.Errorf("%s: the lock has no direct dependencies", name)
		}
		for dependency, version := range l.Packages[""].Dependencies {
			if !exact.MatchString(version) {
				t.Errorf("%s: %s is asked for as %q, not exactly", name, dependency, version)
			}
		}
	}
}

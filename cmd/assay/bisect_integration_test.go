//go:build integration

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/bisect"
)

// TestIntegrationBisect tries the locked transformers and the release before it, which
// is installed beside it from the package index: both are good, which is status 5, and
// asked again nothing is tried.
func TestIntegrationBisect(t *testing.T) {
	if os.Getenv("ASSAY_TEST_FULL") == "" {
		t.Skip("it installs a release of transformers with all that it needs; make test-full does so")
	}
	p, python := withTorch(t)
	p.globals = nil
	environments := filepath.Join(p.vars["ASSAY_HOME"], "data", "environments")
	dir := filepath.Dir(filepath.Dir(python))
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	p.vars["UV_CACHE_DIR"] = filepath.Join(cache, "uv") // what the environment was installed from
	if err := os.MkdirAll(environments, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(environments, filepath.Base(dir))); err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		stdout, stderr, status := p.run(t, "bisect", "bert", "--good", "5.22.1", "--json")
		var got bisectAnswer
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != exitNothing {
			t.Fatalf("status %d, %v\n%s%s", status, err, stdout, stderr)
		}
		if got.Ending != bisect.NeverBad || got.LastGood != "5.22.2" || got.Releases != 2 || len(got.Answers) != 2 {
			t.Errorf("%+v", got.Outcome)
		}
		if fresh := got.Asked(); again && fresh > 0 || !again && fresh != 2 {
			t.Errorf("again %v: %d were tried", again, fresh)
		}
	}
}

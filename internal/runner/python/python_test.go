package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"assay/internal/runner"
	"assay/internal/runner/runnertest"
)

func TestConformance(t *testing.T) {
	for _, spawn := range []bool{false, true} {
		name := map[bool]string{false: "fork", true: "spawn"}[spawn]
		t.Run(name, func(t *testing.T) {
			runnertest.Run(t, func(t *testing.T) runner.Runner {
				r, err := bare(t, spawn).StartRestarting(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return r
			})
		})
	}
}

// bare is a runner that needs nothing but an interpreter and these sources.
func bare(t testing.TB, spawn bool) Runner {
	t.Helper()
	sources, err := filepath.Abs("../../../runtimes/python")
	if err != nil {
		t.Fatal(err)
	}
	return Runner{Python: interpreter(t), Sources: sources, Bare: true, Spawn: spawn, Env: append(append(os.Environ(), Environment(sources)...), "PYTHONDONTWRITEBYTECODE=1")}
}

// interpreter is a Python that the runner supports.
func interpreter(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"python3", "python"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run() == nil {
			return path
		}
	}
	t.Skip("no Python 3.10 or newer is on PATH")
	return ""
}

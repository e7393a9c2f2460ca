package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"assay/internal/environment"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the program itself when it is started under
// the name assay: scripts and tests start it like any user does.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay": started})
}

// started is main, on the processor that a test describes.
func started() {
	e := system()
	if file := os.Getenv("ASSAY_TEST_CPUINFO"); file != "" {
		e.cpuinfo = file
	}
	os.Exit(run(context.Background(), e, os.Args[1:]))
}

// anyPython is the folder of a real interpreter (never a shim, which may need the
// user's own variables): enough for no-op cells.
var anyPython = sync.OnceValues(func() (string, error) {
	p, err := environment.FindPython(context.Background(), os.Getenv("ASSAY_PYTHON"))
	return filepath.Dir(p.Path), err
})

// variables are those that every started assay gets beside its own folders. A
// race-detecting program would sleep a second at its end.
func variables(t testing.TB, dir string) map[string]string {
	t.Helper()
	bin, err := anyPython()
	if err != nil {
		t.Fatalf("the command tests need a Python: %v", err)
	}
	return map[string]string{
		"PATH":       bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME":       dir,
		"ASSAY_HOME": filepath.Join(dir, "home"),
		"TMPDIR":     filepath.Join(dir, "tmp"),
		"GORACE":     "atexit_sleep_ms=0",
		"LANG":       "C.UTF-8",
		// What browsers a machine has must not decide what a test sees.
		"ASSAY_BROWSERS": "packed",
	}
}

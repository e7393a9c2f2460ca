package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/journal"

	"github.com/spf13/pflag"
)

// parsed is the program with arguments of one of its commands read, not run.
func parsed(t *testing.T, e *env, args ...string) *app {
	t.Helper()
	a := &app{env: e}
	c, _, err := a.root().Find([]string{"version"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAgainHasEveryGlobalFlag: also one that somebody adds later.
func TestAgainHasEveryGlobalFlag(t *testing.T) {
	t.Parallel()
	var args []string
	parsed(t, system()).globals.VisitAll(func(f *pflag.Flag) {
		args = append(args, "--"+f.Name+map[string]string{"bool": "=true", "string": "=some/where", "stringSlice": "=ONE,OTHER"}[f.Value.Type()])
	})
	first := parsed(t, system(), args...)
	passed, err := first.itself().repeatFlags()
	if err != nil {
		t.Fatal(err)
	}
	second := parsed(t, system(), passed...)
	first.globals.VisitAll(func(f *pflag.Flag) {
		got := second.globals.Lookup(f.Name)
		switch {
		case f.Name == "json":
			if got.Changed {
				t.Error("how the caller prints is not a matter of the child's")
			}
		case !got.Changed || !strings.HasSuffix(got.Value.String(), f.Value.String()):
			t.Errorf("--%s is lost: %q", f.Name, got.Value)
		}
	})
	if !filepath.IsAbs(second.db) || !filepath.IsAbs(second.python) {
		t.Errorf("in another folder they are other files: %q, %q", second.db, second.python)
	}
	if bare, err := parsed(t, system(), "--python=python3").itself().repeatFlags(); err != nil || len(bare) != 1 || bare[0] != "--python=python3" {
		t.Errorf("a name to be looked for in PATH became %v, %v", bare, err)
	}
}

// TestChildWritesWhereTheCallerDoes: with --db the user's own database is left alone.
func TestChildWritesWhereTheCallerDoes(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.withResults(t, resultOf(cell.Cell{Type: "bert"}))
	db := filepath.Join(p.dir, "other.duckdb")
	file, err := filepath.Glob(filepath.Join(p.dir, "kept.duckdb.journals", "*"+journal.Extension))
	if err != nil || len(file) != 1 {
		t.Fatalf("%v, %v", file, err)
	}
	e := system()
	e.environ = p.environ
	cmd, err := parsed(t, e, "--db", db).itself().command(t.Context(), "import", file[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[0] = "assay" // by which the test's own binary knows that it is the program
	if _, stderr, status := finish(t, cmd); status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if there, err := os.ReadDir(db + ".journals"); err != nil || len(there) == 0 {
		t.Errorf("nothing came to %s: %v", db, err)
	}
	if _, err := os.Stat(filepath.Join(p.vars["ASSAY_HOME"], "data", "journals")); err == nil {
		t.Error("the user's own journals were written to")
	}
}

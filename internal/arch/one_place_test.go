package arch

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// onePlace is what only some packages may write, tests apart.
var onePlace = []struct {
	text string
	in   []string
	why  string
}{
	{"os.Rename(", []string{"internal/wholefile", "internal/environment", "internal/hub", "internal/store", "internal/runner/runnertest"},
		"files that appear whole are written by internal/wholefile"},
	{`"github.com/duckdb/`, []string{"internal/store"}, "only internal/store knows DuckDB's driver"},
	{"store.Filter", []string{"internal/history"}, "past results are asked for in internal/history"},
}

func TestOnePlace(t *testing.T) {
	t.Parallel()
	problems, err := misplaced(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// TestMisplaced: the check can fail.
func TestMisplaced(t *testing.T) {
	t.Parallel()
	got, err := misplaced(fstest.MapFS{
		"internal/history/a.go": {Data: []byte("store.Filter{}")},
		"cmd/assay/a_test.go":   {Data: []byte("store.Filter{}")},
		"cmd/assay/b.go":        {Data: []byte("store.Filter{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"cmd/assay/b.go has store.Filter: past results are asked for in internal/history"}, got); d != "" {
		t.Error(d)
	}
}

func misplaced(tree fs.FS) ([]string, error) {
	var problems []string
	err := eachSource(tree, func(name string) error {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for _, one := range onePlace {
			if strings.Contains(string(text), one.text) && !slices.Contains(one.in, path.Dir(name)) {
				problems = append(problems, name+" has "+one.text+": "+one.why)
			}
		}
		return nil
	})
	return problems, err
}

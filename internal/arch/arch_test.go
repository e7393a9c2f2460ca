package arch

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestAllowedImports(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ParseTable(string(text))
	if err != nil {
		t.Fatalf("docs/architecture.md: %v", err)
	}
	imports, err := Imports(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range compare(table, imports) {
		t.Error(problem)
	}
}

// compare returns a sentence for each way in which table and packages differ.
func compare(table Table, imports map[string]map[string]string) []string {
	var problems []string
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		if _, there := table[pkg]; !there {
			problems = append(problems, pkg+" has no row in the table of docs/architecture.md")
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(imports[pkg])) {
			if !table.Allows(pkg, imported) {
				problems = append(problems, imports[pkg][imported]+" imports "+imported+", which the row of "+pkg+" does not allow")
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(table)) {
		if imports[pkg] == nil {
			problems = append(problems, pkg+" has a row and no code")
		}
	}
	return problems
}

// TestCompare: the check can fail.
func TestCompare(t *testing.T) {
	t.Parallel()
	table, err := ParseTable("| package | may import | what |\n| --- | --- | --- |\n| internal/a | | x |\n| internal/b | a | x |\n| gone | | x |\n\n| other | table |\n")
	if err != nil {
		t.Fatal(err)
	}
	imports, err := Imports(fstest.MapFS{
		"internal/a/a.go":            {Data: []byte("package a\nimport _ \"assay/internal/b\"\n")},
		"internal/b/b.go":            {Data: []byte("package b\nimport (\n\"fmt\"\n_ \"assay/internal/a\"\n)\n")},
		"internal/b/b_test.go":       {Data: []byte("package b\nimport _ \"assay/internal/new\"\n")},
		"internal/b/testdata/x/x.go": {Data: []byte("this is not Go")},
		"internal/new/n.go":          {Data: []byte("package n\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"internal/a/a.go imports internal/b, which the row of internal/a does not allow",
		"internal/new has no row in the table of docs/architecture.md",
		"gone has a row and no code",
	}
	if diff := cmp.Diff(want, compare(table, imports)); diff != "" {
		t.Error(diff)
	}
}

func TestParseTableSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const head = "| package | may import |\n| --- | --- |\n"
	for _, text := range []string{"", "no table", head + "| internal/a | b |\n", head + "| a | |\n| a | |\n"} {
		if table, err := ParseTable(text); err == nil {
			t.Errorf("%q gave %v", text, table)
		}
	}
}

// TestWorkerIsFree: the worker is static and cross-compiles, so nothing it
// depends on, however far, may need DuckDB or cgo.
func TestWorkerIsFree(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/assay-worker")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.Contains(dep, "duckdb") || strings.TrimSpace(dep) == Module+"internal/store" {
			t.Errorf("the worker depends on %s", strings.TrimSpace(dep))
		}
	}
	if !strings.Contains(string(out), Module) {
		t.Errorf("go list named no package of the program: %s", out)
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add("| package | may import |\n| --- | --- |\n| internal/a | any |\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ParseTable(text)
		if err == nil && len(table) == 0 {
			t.Errorf("%q gave an empty table and no error", text)
		}
	})
}

package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewerDatabase: a database of a newer Assay is left alone, also by a
// rebuild; the journals can be asked through another one.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.ok(t, "test", "--plan", p.noops(t, "nothing", 2))
	if n := p.count(t); n != 2 {
		t.Fatalf("%d results, want 2", n)
	}
	path := filepath.Join(p.vars["ASSAY_HOME"], "data", "assay.duckdb")
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "update schema_version set version = 999"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"query"}, {"matrix", "show"}, {"report", "--format", "md"}, {"db", "rebuild"}} {
		if _, stderr, status := p.run(t, args...); status != exitProgram || !strings.Contains(stderr, "was made by a newer Assay") {
			t.Errorf("assay %s: status %d\n%s", strings.Join(args, " "), status, stderr)
		}
	}
	p.ok(t, "test", "--plan", p.noops(t, "nothing", 1)) // a run needs no database
}

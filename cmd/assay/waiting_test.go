package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/filelock"
)

// TestWaiting: who waits for a database that another program uses is told so.
func TestWaiting(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.ok(t, "test", "--plan", p.noops(t, "nothing", 1))
	if n := p.count(t); n != 1 {
		t.Fatalf("%d results, want 1", n)
	}
	held, err := filelock.Wait(t.Context(), filepath.Join(p.vars["ASSAY_HOME"], "data", "assay.duckdb.lock"), filelock.Exclusive, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	released := time.AfterFunc(4*time.Second, func() { held.Close() })
	defer released.Stop()
	_, stderr, status := p.run(t, "query")
	if status != exitOK || !strings.Contains(stderr, "waiting for another assay that is using ") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

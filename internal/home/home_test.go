package home

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/store"
)

func in(dir, db string) Home {
	return Home{DB: db, Getenv: func(name string) string { return map[string]string{"ASSAY_HOME": dir}[name] }}
}

// TestPaths: without a database of the user's own all lies in the data folder.
func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, journals, err := in(dir, "").Paths()
	if err != nil || db != filepath.Join(dir, "data", "assay.duckdb") || journals != filepath.Join(dir, "data", "journals") {
		t.Errorf("%s, %s, %v", db, journals, err)
	}
	db, journals, err = in(dir, "mine.duckdb").Paths()
	if err != nil || db != "mine.duckdb" || journals != "mine.duckdb.journals" {
		t.Errorf("%s, %s, %v", db, journals, err)
	}
}

// TestKept: results are looked for without making or opening anything.
func TestKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	if in(dir, "").Kept() || in(dir, filepath.Join(dir, "mine.duckdb")).Kept() {
		t.Error("results where there is nothing")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking made the folder")
	}
	for _, file := range []string{"data/journals/run.jsonl", "data/assay.duckdb", "mine.duckdb"} {
		home := filepath.Join(t.TempDir(), "home")
		path := filepath.Join(home, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		db := ""
		if file == "mine.duckdb" {
			db = path
		}
		if !in(home, db).Kept() {
			t.Errorf("%s was not seen", file)
		}
	}
}

// TestFoldersToRead: a home that cannot be written still answers, and says so to
// whoever would write.
func TestFoldersToRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("nothing is read-only to root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	h := in(filepath.Join(dir, "home"), "")
	if _, err := h.Folders(); err == nil {
		t.Error("folders were made where nothing can be")
	}
	if f, err := h.FoldersToRead(); err != nil || !strings.HasPrefix(f.Data, dir) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestJournalsToWrite: results are put beside no other program's file.
func TestJournalsToWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, "letter.txt")
	if got, err := in(dir, db).JournalsToWrite(t.Context()); err != nil || got != db+".journals" {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.WriteFile(db, []byte("Dear Ada, …"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := in(dir, db).JournalsToWrite(t.Context()); err == nil {
		t.Errorf("results would go to %s, beside a letter", got)
	}
}

// TestStates: what doctor says of a home, empty and with a run.
func TestStates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := in(dir, "")
	_, journals, err := h.Paths()
	if err != nil {
		t.Fatal(err)
	}
	states := func() (database, lines string) {
		t.Helper()
		database, err := h.DatabaseState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lines, err = h.JournalState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return database, lines
	}
	if database, lines := states(); store.Indexed && !strings.HasPrefix(database, "0 results in ") || lines != "0 journals with 0 lines in "+journals {
		t.Errorf("%s, %s", database, lines)
	}
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	w, err := journal.Create(journals, journal.Header{Schema: journal.Schema, Run: cell.Run{ID: "run-1", StartedAt: at, Command: "test"}, Host: cell.Host{ID: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	c := cell.Cell{Type: "bert"}.Normal()
	if _, err := w.Append(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, Requested: cell.SettingsOf(c), StartedAt: at}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if database, lines := states(); store.Indexed && !strings.HasPrefix(database, "1 results in ") || lines != "1 journal with 1 line in "+journals {
		t.Errorf("%s, %s", database, lines)
	}
	if err := os.WriteFile(filepath.Join(journals, "torn"+journal.Extension), []byte("garbage\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := h.JournalState(t.Context()); err == nil {
		t.Errorf("garbage is counted: %s", got)
	}
}

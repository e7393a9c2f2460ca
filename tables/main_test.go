package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/journal"
)

// What the documentation says is what the journals hold.
func TestPageIsMadeOfTheJournals(t *testing.T) {
	t.Parallel()
	if err := run([]string{"docs", "--check"}, "..", nil); err != nil {
		t.Error(err)
	}
}

// The embedded atlas is made of the journals, byte by byte; one that is not is noticed.
func TestAtlasIsMadeOfTheJournals(t *testing.T) {
	t.Parallel()
	if err := run([]string{"atlas", "--check"}, "..", nil); err != nil {
		t.Error(err)
	}
	root := t.TempDir()
	path := filepath.Join(root, "internal", "atlas", "data", "atlas.jsonl.br")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Mkdir(filepath.Join(root, "tables"), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"atlas", "--check"}, root, nil); err == nil || !strings.Contains(err.Error(), "make atlas") {
		t.Errorf("another file: %v", err)
	}
	if err := errors.Join(run([]string{"atlas"}, root, nil), run([]string{"atlas", "--check"}, root, nil)); err != nil {
		t.Errorf("the file just written, of no journals: %v", err)
	}
}

// An atlas of which less is measured than of the one before it is written only with a
// reason, which is kept.
func TestLoweredAtlas(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "internal", "atlas", "data", "atlas.jsonl.br")
	good, err := os.ReadFile("../internal/atlas/data/atlas.jsonl.br")
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.Mkdir(filepath.Join(root, "tables"), 0o755), os.WriteFile(path, good, 0o600)); err != nil {
		t.Fatal(err)
	}
	err = run([]string{"atlas"}, root, nil) // of no journals
	if err == nil || !strings.Contains(err.Error(), "cuda: measured 0 of") {
		t.Errorf("nothing is measured any more: %v", err)
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, good) {
		t.Errorf("the refused atlas was written: %v", err)
	}
	for _, args := range [][]string{{"atlas", "--because"}, {"atlas", "--because", " "}} {
		if err := run(args, root, nil); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := run([]string{"atlas", "--because", "the journals were made by a broken machine"}, root, nil); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(root, "tables", "lowered.jsonl"))
	if err != nil || !strings.Contains(string(kept), "broken machine") || !strings.Contains(string(kept), "cuda: measured 0 of") {
		t.Errorf("%s, %v", kept, err)
	}
	if err := run([]string{"atlas"}, root, nil); err != nil {
		t.Errorf("nothing is lost by doing it again: %v", err)
	}
}

// A page that somebody typed in is noticed, and so is half a journal.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"docs", "tables"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("*.jsonl.br")
	if err != nil || len(files) == 0 {
		t.Fatalf("no journals: %v", err)
	}
	packed, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(root, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("tables/run.jsonl.br", packed)
	if err := run([]string{"docs"}, root, nil); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/table.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"docs", "--check"}, root, nil); err != nil {
		t.Errorf("the page just written: %v", err)
	}
	put("docs/table.md", bytes.Replace(page, []byte("types"), []byte("kinds"), 1))
	if err := run([]string{"docs", "--check"}, root, nil); err == nil || !strings.Contains(err.Error(), "make table-docs") {
		t.Errorf("a page with another word: %v", err)
	}
	put("tables/run.jsonl.br", packed[:len(packed)/2])
	if err := run([]string{"docs"}, root, nil); err == nil {
		t.Error("half a journal was taken for a whole one")
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := run([]string{"plan", "cuda"}, ".", &b); err != nil {
		t.Fatal(err)
	}
	var plan cell.Plan
	if err := json.Unmarshal(b.Bytes(), &plan); err != nil || len(plan.Cells) < 3*700 {
		t.Errorf("%d cells, %v", len(plan.Cells), err)
	}
	for _, args := range [][]string{nil, {"plan"}, {"pack"}, {"docs", "x"}, {"other"}, {"plan", "tpu"}, {"pack", "nowhere.jsonl"}} {
		if err := run(args, t.TempDir(), &b); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

// What is left of a column is what has no answer: with the published runs less than the whole.
func TestLeft(t *testing.T) {
	t.Parallel()
	cells := func(root string, args ...string) int {
		var out bytes.Buffer
		var plan cell.Plan
		if err := errors.Join(run(args, root, &out), json.Unmarshal(out.Bytes(), &plan)); err != nil {
			t.Fatal(err)
		}
		return len(plan.Cells)
	}
	whole := cells("..", "plan", "cuda fp32")
	if three := cells("..", "plan", "cuda"); three != 3*whole {
		t.Errorf("cuda has %d cells, and one dtype of it %d", three, whole)
	}
	if left := cells("..", "left", "cuda fp32"); left >= whole || left == 0 {
		t.Errorf("%d of %d are left of a column that was run", left, whole)
	}
	empty := t.TempDir()
	if err := os.Mkdir(filepath.Join(empty, "tables"), 0o755); err != nil {
		t.Fatal(err)
	}
	if left := cells(empty, "left", "cuda fp32"); left != whole {
		t.Errorf("%d of %d are left where nothing was run", left, whole)
	}
	if err := run([]string{"left", "cuda fp8"}, "..", nil); err == nil {
		t.Error("an unknown dtype is taken")
	}
}

// A run that does not name its commit is not published, because nobody could make it again.
func TestRunsNameTheirCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for commit, taken := range map[string]bool{"0a1b2c3d": true, "dev": false, "": false} {
		head := journal.Header{Run: cell.Run{ID: "20261120T000000Z-" + commit + "x", Assay: commit}, Host: cell.Host{ID: "h"}}
		w, err := journal.Create(dir, head)
		if err = errors.Join(err, w.End(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := pack([]string{filepath.Join(dir, head.Run.ID+".jsonl")}, dir); (err == nil) != taken {
			t.Errorf("%q: %v", commit, err)
		}
	}
	files, err := filepath.Glob("*.jsonl.br")
	if err != nil || len(files) == 0 {
		t.Fatalf("no journals: %v", err)
	}
	for _, f := range files {
		r, err := journal.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(named(r.Header().Run), r.Close()); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

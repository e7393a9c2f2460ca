package main

import (
	"bytes"
	"testing"

	"assay/internal/artefact"
	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/exports"
	"assay/internal/generate/folder"
	"assay/internal/hub"
	"assay/internal/report"
	"assay/internal/session"
	"assay/internal/trial"
	"assay/internal/verify"

	"github.com/google/go-cmp/cmp"
)

// TestAnswers: what commands print with --json is, byte for byte, what maps of
// these fields print, as it was before the answers had types.
func TestAnswers(t *testing.T) {
	t.Parallel()
	var (
		tables   = []report.Consistency{{Model: "bert"}}
		found    = []hub.Snapshot{{Folder: "/f"}}
		given    = []artefact.Artefact{{Model: "bert"}}
		results  = []cell.Result{{Verdict: cell.Works}}
		parts    = []partsGiven{{Model: "bert", Parts: []session.Part{{Name: "unet"}}}}
		entries  = []exports.Entry{{Key: "k"}}
		removed  = exports.Collected{Freed: 7}
		without  = []folder.Unwritten{{Model: "bert", Reason: "no pipeline"}}
		files    = []trial.Model{{Model: "bert"}}
		outcomes = []verify.Outcome{{}}
		mutants  = verify.Count(outcomes)
	)
	for name, tt := range map[string]struct {
		answer any
		fields map[string]any
	}{
		"test --consistency":  {consistencyAnswer{Schema: 1, Consistency: tables}, map[string]any{"schema": 1, "consistency": tables}},
		"consistency of none": {consistencyAnswer{Schema: 1}, map[string]any{"schema": 1, "consistency": []report.Consistency(nil)}},
		"fetch":               {fetchAnswer{Schema: 1, Models: found}, map[string]any{"schema": 1, "models": found}},
		"import":              {importAnswer{Schema: 1, Run: "r", New: 2, Known: 3, Local: 1, Problems: 4}, map[string]any{"schema": 1, "run": "r", "new": 2, "known": 3, "local": 1, "problems": 4}},
		"export":              {exportAnswer{Schema: 1, Exported: given, Results: results}, map[string]any{"schema": 1, "exported": given, "results": results}},
		"export --parts":      {exportPartsAnswer{Schema: 1, Exported: parts}, map[string]any{"schema": 1, "exported": parts}},
		"cache ls":            {cacheListAnswer{Schema: 1, Folder: "/c", Entries: entries}, map[string]any{"schema": 1, "folder": "/c", "entries": entries}},
		"cache rm":            {cacheRemoveAnswer{Schema: 1, Collected: removed}, map[string]any{"schema": 1, "collected": removed}},
		"generate": {generateAnswer{Schema: 1, Written: []string{"a"}, Same: []string{}, Kept: []string{"b"}, Without: without},
			map[string]any{"schema": 1, "written": []string{"a"}, "same": []string{}, "kept": []string{"b"}, "without": without}},
		"generate --check": {generateCheckAnswer{Schema: 1, Differ: []fileState{{"a", "edited"}}, Checked: 2},
			map[string]any{"schema": 1, "differ": []map[string]string{{"file": "a", "state": "edited"}}, "checked": 2}},
		"generate --run": {generateRunAnswer{Schema: 1, Files: files, Passed: 1, Failed: 2, Skipped: 3, Seconds: 4.5},
			map[string]any{"schema": 1, "files": files, "passed": 1, "failed": 2, "skipped": 3, "seconds": 4.5}},
		"verify":  {verifyAnswer{Schema: 1, Combinations: outcomes, Mutants: mutants}, map[string]any{"schema": 1, "combinations": outcomes, "mutants": mutants}},
		"serve":   {serveAnswer{Schema: 1, URLs: []string{"u"}, Fingerprint: "f", Dashboard: "d"}, map[string]any{"schema": 1, "urls": []string{"u"}, "fingerprint": "f", "dashboard": "d"}},
		"version": {versionAnswer{Schema: 1, Version: "v", Go: "g", OS: "o", Arch: "a", DuckDB: true}, map[string]any{"schema": 1, "version": "v", "go": "g", "os": "o", "arch": "a", "duckdb": true}},
	} {
		var got, want bytes.Buffer
		if err := clean.WriteJSON(&got, tt.answer, "  "); err != nil {
			t.Fatal(err)
		}
		if err := clean.WriteJSON(&want, tt.fields, "  "); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

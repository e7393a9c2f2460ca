package main

import (
	"assay/internal/artefact"
	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/exports"
	"assay/internal/generate/folder"
	"assay/internal/hub"
	"assay/internal/report"
	"assay/internal/trial"
	"assay/internal/verify"
)

// What commands print with --json and no package has a type for. Programs read
// it: a field may be added, and with Schema the rest may change. Fields stand in
// the order in which they have always been printed, most by their names.
type (
	consistencyAnswer struct {
		Consistency []report.Consistency `json:"consistency"`
		Schema      int                  `json:"schema"`
	}
	fetchAnswer struct {
		Models []hub.Snapshot `json:"models"`
		Schema int            `json:"schema"`
	}
	importAnswer struct {
		Known    int    `json:"known"`
		Local    int    `json:"local"` // new results of cells that no other machine can run
		New      int    `json:"new"`
		Problems int    `json:"problems"`
		Run      string `json:"run"`
		Schema   int    `json:"schema"`
	}
	exportAnswer struct {
		Exported []artefact.Artefact `json:"exported"`
		Results  []cell.Result       `json:"results"`
		Schema   int                 `json:"schema"`
	}
	exportPartsAnswer struct {
		Exported []partsGiven `json:"exported"`
		Schema   int          `json:"schema"`
	}
	cacheListAnswer struct {
		Entries []exports.Entry `json:"entries"`
		Folder  string          `json:"folder"`
		Schema  int             `json:"schema"`
	}
	cacheRemoveAnswer struct {
		Collected exports.Collected `json:"collected"`
		Schema    int               `json:"schema"`
	}
	generateAnswer struct {
		Kept    []string           `json:"kept"`
		Same    []string           `json:"same"`
		Schema  int                `json:"schema"`
		Without []folder.Unwritten `json:"without"`
		Written []string           `json:"written"`
	}
	generateCheckAnswer struct {
		Checked int         `json:"checked"`
		Differ  []fileState `json:"differ"`
		Schema  int         `json:"schema"`
	}
	fileState struct {
		File  string `json:"file"`
		State string `json:"state"`
	}
	generateRunAnswer struct {
		Failed  int           `json:"failed"`
		Files   []trial.Model `json:"files"`
		Passed  int           `json:"passed"`
		Schema  int           `json:"schema"`
		Seconds float64       `json:"seconds"`
		Skipped int           `json:"skipped"`
	}
	verifyAnswer struct {
		Combinations []verify.Outcome `json:"combinations"`
		Mutants      map[string]int   `json:"mutants"`
		Schema       int              `json:"schema"`
	}
	setupAnswer struct {
		Schema int `json:"schema"`
		environment.Environment
	}
	setupWebAnswer struct {
		Schema int `json:"schema"`
		environment.Web
		Chromium string `json:"chromium"` // "" where none is packed for this machine
	}
	serveAnswer struct {
		Dashboard   string   `json:"dashboard"`
		Fingerprint string   `json:"fingerprint"`
		Schema      int      `json:"schema"`
		URLs        []string `json:"urls"`
	}
	versionAnswer struct {
		Arch    string `json:"arch"`
		DuckDB  bool   `json:"duckdb"` // whether SQL can be asked
		Go      string `json:"go"`
		OS      string `json:"os"`
		Schema  int    `json:"schema"`
		Version string `json:"version"`
	}
)

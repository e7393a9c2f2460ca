package matrix

import (
	"testing"

	"assay/internal/cell"
)

func TestName(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"bert":                                 "bert",
		"google/vit-base-patch16-224":          "google/vit-base-patch16-224",
		"/home/ada/models/my-bert/config.json": "my-bert",
		"models/my-bert/config.json":           "my-bert",
		`C:\Users\ada\my-bert\config.json`:     "my-bert",
		"/home/ada/models/my-bert":             "my-bert",
		"config.json":                          "config.json",
		"/config.json":                         "/config.json",
		"owner/config.json-of-a-checkpoint":    "owner/config.json-of-a-checkpoint",
		"":                                     "",
	} {
		if got := Name(model); got != want {
			t.Errorf("Name(%q) = %q, want %q", model, got, want)
		}
	}
}

// The noop engine runs no model: its results have no row.
func TestFoldLeavesOutNoop(t *testing.T) {
	t.Parallel()
	noop := Observation{Result: cell.Result{Cell: cell.Cell{Type: "noop", Engine: "noop"}.Normal(), Verdict: cell.Works, Evidence: cell.Measured}, Host: "h1"}
	m := Fold([]Observation{noop, observe("bert", "cpu")}, Options{})
	if len(m.Rows) != 1 || m.Rows[0].Model != "bert" {
		t.Errorf("rows: %+v", m.Rows)
	}
}

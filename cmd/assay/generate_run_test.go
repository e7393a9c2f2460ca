package main

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/pytests"
)

// A file asks for one sample and for a batch: it disagrees with what is stored
// only where no stored result explains what it found.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	green := pytests.File{Passed: 9}
	red := pytests.File{Passed: 7, Failed: []pytests.Case{{Test: "test_batch", Why: "assert 0.015 <= 0.001"}}}
	single := pytests.File{Passed: 8, Skipped: []pytests.Case{{Test: "test_batch[openvino]", Why: "it takes one sample"}}}
	idle := pytests.File{Skipped: []pytests.Case{{Test: "test_loads", Why: "not here"}}}
	const passes, fails = "the test passes, and the stored result fails", "the test fails, and the stored result works"
	for _, tt := range []struct {
		name         string
		file         pytests.File
		alone, batch cell.Verdict
		want         string
	}{
		{"both work", green, cell.Works, cell.Works, ""},
		{"both fail", red, cell.Fails, cell.Fails, ""},
		{"green where it fails", green, cell.Fails, "", passes},
		{"red where it works", red, cell.Works, cell.Works, fails},
		{"red where nothing is known of a batch", red, cell.Works, "", fails},
		{"red where a batch fails", red, cell.Works, cell.Fails, ""},
		{"green where a batch fails", green, cell.Works, cell.Fails, "the test passes, and the stored result of a batch fails"},
		{"green where a batch fails that it does not ask for", single, cell.Works, cell.Fails, ""},
		{"red where it is partial", red, cell.Partial, cell.Partial, ""},
		{"nothing stored", red, "", "", ""},
		{"not run", idle, cell.Works, cell.Works, ""},
		{"not run where it fails", idle, cell.Fails, cell.Fails, ""},
	} {
		if got := disagreement(tt.file, tt.alone, tt.batch); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestMatrixSays(t *testing.T) {
	t.Parallel()
	known, works := matrixSays([]ran{{Stored: cell.Works}, {Stored: cell.Partial}, {Stored: cell.Fails}, {Stored: cell.Unavailable}, {}})
	if known != 3 || works != 2 {
		t.Errorf("of %d known %d work, want 2 of 3", known, works)
	}
}

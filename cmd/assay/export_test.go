package main

import (
	"strings"
	"testing"

	"assay/internal/artefact"
	"assay/internal/cell"
)

// TestExportedWords: what was converted and could not be run is not said to work.
func TestExportedWords(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeExported(&b, "coreml", []artefact.Artefact{
		{Model: "bert", Format: "coreml", DType: "fp16", Verdict: cell.Works, Evidence: cell.Compiled},
		{Model: "vit", Format: "coreml", DType: "fp16", Verdict: cell.Works, Evidence: cell.Measured},
	}, nil)
	for _, want := range []string{"bert as coreml fp16: should work\n", "vit as coreml fp16: works\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

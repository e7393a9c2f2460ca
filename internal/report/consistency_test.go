package report

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/cell"
)

func TestWriteConsistency(t *testing.T) {
	t.Parallel()
	small, large := 2e-7, 3.5e-3
	table := Consistency{
		Model: "bert", Size: "tiny", Weights: "random", Batch: 1,
		Targets: []string{"cpu fp32", "openvino fp32", "qnn fp16"},
		Pairs: []Pair{
			{A: "cpu fp32", B: "openvino fp32", MaxRel: &small},
			{A: "cpu fp32", B: "qnn fp16", MaxRel: &large},
			{A: "openvino fp32", B: "qnn fp16"},
		},
		Batches: []Pair{{A: "cpu fp32", MaxRel: &small}, {A: "cpu fp32", MaxRel: &large}, {A: "qnn fp16"}},
		Missing: []MissingOutput{{"cuda fp32", "no NVIDIA GPU was seen"}},
	}
	var b bytes.Buffer
	if err := WriteConsistency(&b, []Consistency{table, table}); err != nil {
		t.Fatal(err)
	}
	const want = `bert  tiny, random weights: largest difference over largest value
                        cpu fp32  openvino fp32  qnn fp16
  cpu fp32                     ·        2.0e-07   3.5e-03
  openvino fp32          2.0e-07              ·         –
  qnn fp16               3.5e-03              –         ·
  batch against single   3.5e-03              –         –
  no output on cuda fp32: no NVIDIA GPU was seen
`
	if got := b.String(); got != want+"\n"+want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

func TestWhy(t *testing.T) {
	t.Parallel()
	failed := cell.Result{Note: "note", Failure: &cell.Failure{Class: cell.Export, Detail: "no"}}
	if got := Why(failed); got != "export: no" {
		t.Errorf("a failure is %q", got)
	}
	if got := Why(cell.Result{Note: "absent"}); !strings.Contains(got, "absent") {
		t.Errorf("a note is %q", got)
	}
}

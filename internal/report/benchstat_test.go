package report

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/perf/benchfmt"

	"assay/internal/compare"
)

// TestBenchstat: what is written is read back as Go's benchmarks, each repeat once, and
// nothing but the side differs between the two: benchstat -col side would otherwise set
// nothing beside anything.
func TestBenchstat(t *testing.T) {
	t.Parallel()
	r := compare.Report{A: compare.Summary{Name: "the old one"}, B: compare.Summary{Name: "new"}, Speed: []compare.Speed{{
		Cell: compare.Named{Model: "org/some model", Target: "cpu/onnxruntime", DType: "fp32", Settings: []string{"batch 8"}}, MediansA: []float64{10, 11}, MediansB: []float64{12},
	}}}
	var b bytes.Buffer
	if err := WriteCompared(&b, Benchstat, r); err != nil {
		t.Fatal(err)
	}
	var got []string
	in := benchfmt.NewReader(&b, "test")
	for in.Scan() {
		line, ok := in.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("%+v is no benchmark", in.Result())
		}
		for _, c := range line.Config {
			if c.File && c.Key != "side" {
				t.Errorf("%s: %s makes a table of its own", c.Key, c.Value)
			}
		}
		got = append(got, fmt.Sprintf("%s %s %.3g s", line.GetConfig("side"), line.Name, line.Values[0].Value))
	}
	const name = "Cell/model=org_some_model/target=cpu_onnxruntime/dtype=fp32/batch=8"
	want := []string{"a " + name + " 0.01 s", "a " + name + " 0.011 s", "b " + name + " 0.012 s"}
	if in.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %q", in.Err(), got)
	}
}

//go:build integration

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Packages of the index that bring trained ONNX models.
const withGraphs = `silero-vad==6.2.3 --hash=sha256:7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8
magika==1.0.3 --hash=sha256:3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529
rapidocr-onnxruntime==1.4.4 --hash=sha256:971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf
`

// graphs are their models, and what no rule can know of their inputs.
var graphs = []struct{ path, inputs string }{
	{"silero_vad/data/silero_vad_openvino_16k.onnx", ""},
	{"magika/models/standard_v3_3/model.onnx", `{"inputs":[{"name":"bytes","kind":"ids","dtype":"int32","shape":["batch",2048],"low":0,"high":257}]}`},
	{"rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", `{"inputs":[{"name":"x","kind":"float","dtype":"float32","shape":["batch",3,48,192]}]}`},
	{"rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", `{"inputs":[{"name":"x","kind":"float","dtype":"float32","shape":["batch",3,48,320]}]}`},
	{silentGraph, ""},
}

// silentGraph is a detector that sees next to nothing in noise, so that there is
// nothing to compare.
const silentGraph = "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"

// coarse are the models whose numbers half precision on the HTP does not keep:
// docs/benchmarks.md has by how much. A right answer would be news.
var coarse = []string{"silero_vad_openvino_16k.onnx", "ch_PP-OCRv4_rec_infer.onnx"}

// TestIntegrationPretrainedGraphs: trained ONNX models of other people run on
// every engine that runs graphs, with right numbers. It loads 42 MB from the
// package index, so it is part of make test-full only.
func TestIntegrationPretrainedGraphs(t *testing.T) {
	if os.Getenv("ASSAY_TEST_PRETRAINED") == "" {
		t.Skip("make test-full runs it: it loads 42 MB")
	}
	t.Parallel()
	p, _ := withTorch(t)
	folder := packages(t, p, withGraphs)
	args := []string{"test", "--platform", "cpu,openvino,qnn"}
	for _, g := range graphs {
		path := filepath.Join(folder, filepath.FromSlash(g.path))
		if g.inputs != "" {
			beside := path[:len(path)-len(".onnx")] + ".inputs.json"
			if err := os.WriteFile(beside, []byte(g.inputs), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, path)
	}
	results := p.report(t, exitFails, args...).Results
	if len(results) != 3*len(graphs) {
		t.Errorf("%d results of %d graphs", len(results), len(graphs))
	}
	for _, r := range results {
		if strings.HasSuffix(r.Cell.Checkpoint, filepath.Base(silentGraph)) {
			if r.Verdict != cell.Partial || r.Numerics != nil || !strings.Contains(r.Note, "inputs.json") {
				t.Errorf("%s on %s: %s, %s, %+v", filepath.Base(r.Cell.Checkpoint), r.Cell.Target, r.Verdict, r.Note, r.Failure)
			}
			continue
		}
		if r.Cell.Platform == platform.QNN && slices.Contains(coarse, filepath.Base(r.Cell.Checkpoint)) {
			if r.Verdict != cell.Fails || r.Failure.Class != cell.WrongOutput {
				t.Errorf("%s on %s: %s, %s: it is not as wrong as it was", filepath.Base(r.Cell.Checkpoint), r.Cell.Target, r.Verdict, r.Note)
			}
			continue
		}
		if r.Verdict != cell.Works && r.Verdict != cell.Partial || r.Numerics == nil || !r.Numerics.Pass {
			t.Errorf("%s on %s: %s, %s, %+v", filepath.Base(r.Cell.Checkpoint), r.Cell.Target, r.Verdict, r.Note, r.Failure)
		}
	}
}

//go:build integration

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"assay/internal/cell"
	"assay/internal/report"
)

// elsewhere checks an exported model as a user would who has nothing of Assay.
const elsewhere = `
import sys, numpy as np, onnxruntime as ort
folder = sys.argv[1]
session = ort.InferenceSession(folder + "/model.onnx")
inputs, reference = np.load(folder + "/inputs.npz"), np.load(folder + "/reference.npz")
found = session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})
for output, array in zip(session.get_outputs(), found):
    expected = reference[output.name]
    assert abs(array - expected).max() <= 1e-3 * abs(expected).max(), output.name
print("agrees")
`

// TestIntegrationExport: an artefact that agrees with its reference without
// Assay, is found again, and is made again when a file of it was cut.
func TestIntegrationExport(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	ownCache(t, p, "exports")
	out := filepath.Join(p.dir, "out")
	p.ok(t, "export", "bert", "--format", "onnx", "--out", out)
	folder := filepath.Join(out, "bert-onnx-fp32")
	if said, err := exec.Command(python, "-c", elsewhere, folder).CombinedOutput(); err != nil {
		t.Errorf("the artefact does not stand alone: %v\n%s", err, said)
	}
	var check cell.Result
	text, err := os.ReadFile(filepath.Join(folder, "check.json"))
	if err != nil || json.Unmarshal(text, &check) != nil || check.Verdict != cell.Works || check.Export == nil {
		t.Fatalf("the check reads %.300s, %v", text, err)
	}

	plan := p.write(t, "plan.json", cell.Plan{Cells: []cell.Cell{{Type: "bert", Platform: "cpu/onnxruntime"}}})
	again := p.report(t, exitOK, "test", "--plan", plan).Results[0]
	if again.Export == nil || !again.Export.Found || again.Export.Key != check.Export.Key || again.Evidence != cell.Measured {
		t.Errorf("the exported model was not found again: %+v", again.Export)
	}
	kept := filepath.Join(p.vars["ASSAY_HOME"], "cache", "exports", check.Export.Key[:2], check.Export.Key, "model.onnx")
	if err := os.Truncate(kept, 100); err != nil {
		t.Fatal(err)
	}
	mended := p.report(t, exitOK, "test", "bert", "--platform", "cpu/onnxruntime").Results[0]
	if mended.Verdict != cell.Works || mended.Export.Found {
		t.Errorf("a cut file: %s, %+v, %+v", mended.Verdict, mended.Failure, mended.Export)
	}
}

// TestIntegrationConsistency: platforms agree with each other, and batches
// with single inputs.
func TestIntegrationConsistency(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	var said struct{ Consistency []report.Consistency }
	text := p.ok(t, "test", "--consistency", "bert", "--platform", "cpu,cpu/onnxruntime,openvino", "--json")
	if err := json.Unmarshal([]byte(text), &said); err != nil || len(said.Consistency) != 1 {
		t.Fatalf("%v in %.300s", err, text)
	}
	table := said.Consistency[0]
	if len(table.Targets) != 3 || len(table.Pairs) != 3 || len(table.Batches) != 3 || len(table.Missing) != 0 {
		t.Errorf("targets %v, pairs %v, batches %v, missing %v", table.Targets, table.Pairs, table.Batches, table.Missing)
	}
	for _, pair := range append(table.Pairs, table.Batches...) {
		if pair.MaxRel == nil || *pair.MaxRel > 1e-3 {
			t.Errorf("%s and %s differ: %+v", pair.A, pair.B, pair)
		}
	}
}

// ownGraph writes a graph with free axes, and one that is cut.
const ownGraph = `
import sys, onnx
from onnx import TensorProto, helper
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "length"])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])
graph = helper.make_graph([helper.make_node("Mul", ["x", "x"], ["s"]), helper.make_node("Softmax", ["s"], ["y"])], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
model.ir_version = 10
onnx.save(model, sys.argv[1])
open(sys.argv[2], "wb").write(model.SerializeToString()[:40])
`

// TestIntegrationOwnGraph: a user's own ONNX file runs on the engines that run
// graphs; a cut one is said.
func TestIntegrationOwnGraph(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	good, cut := filepath.Join(p.dir, "own.onnx"), filepath.Join(p.dir, "cut.onnx")
	if said, err := exec.Command(python, "-c", ownGraph, good, cut).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, r := range p.report(t, exitOK, "test", good, "--platform", "cpu,openvino", "--batch", "2", "--seq", "8").Results {
		if r.Verdict != cell.Works || r.Outputs[0].Shape[0] != 2 || r.Outputs[0].Shape[1] != 8 {
			t.Errorf("%s: %s, %+v, %+v", r.Cell.Target, r.Verdict, r.Failure, r.Outputs)
		}
	}
	if r := p.report(t, exitFails, "test", cut, "--platform", "cpu").Results[0]; r.Verdict != cell.Fails || r.Failure == nil {
		t.Errorf("a cut file: %s, %+v", r.Verdict, r.Failure)
	}
}

package main

import (
	"os"
	"path/filepath"

	"assay/internal/cell"
	"assay/internal/platform"
)

// onnxFile is a model of the user's that is a graph already.
func onnxFile(path string, f *carryFlags) (cell.Cell, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return cell.Cell{}, err
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil || info.IsDir():
		return cell.Cell{}, usage("there is no file %s", path)
	case info.Size() == 0:
		return cell.Cell{}, usage("%s is empty: export or fetch it again", path)
	case f.size == cell.Tiny:
		return cell.Cell{}, usage("%s has one size: its own", path)
	case f.weights != "":
		return cell.Cell{}, usage("%s holds its own weights: --weights does not go with it", path)
	}
	return cell.Cell{Type: cell.ONNX, Checkpoint: abs, Size: cell.Full, Weights: filepath.Dir(abs)}, nil
}

// ofGraphs is the engine of a target that runs graphs, for a model that is
// one: torch cannot.
func ofGraphs(m cell.Cell, t platform.Target) (platform.Target, error) {
	if m.Type != cell.ONNX || t.Engine.Traits().Graphs {
		return t, nil
	}
	p, _ := platform.Get(t.Platform)
	if p.HasEngine(platform.ONNXRuntime) {
		t.Engine = platform.ONNXRuntime
		return t, nil
	}
	return t, usage("%s is a graph, and %s has no engine that runs one: name cpu, cuda, openvino or qnn", m.Checkpoint, t)
}

package lab

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// pretending is a machine with every target, an emulator or software adapter in
// the place of some.
type pretending struct{ software bool }

func (p pretending) Presence(platform.Target) Presence {
	return Presence{Present: true, Threads: 1, Software: p.software, MemoryBytes: 64 << 30}
}
func (pretending) FreeBytes() int64 { return 4 << 30 }

// sized are recipes of models of 150 million parameters.
type sized struct{}

func (sized) Recipe(context.Context, cell.Cell) (Recipe, error) {
	return Recipe{JSON: json.RawMessage(`{}`), Class: "XModel", Task: "t", Parameters: 150e6}, nil
}

// TestExportsAreAdmittedByWhatTheyNeed: two models of which each takes more than
// half of the memory to be exported do not run side by side, whatever stands for
// the device; what is only run on a device does.
func TestExportsAreAdmittedByWhatTheyNeed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		target   string
		software bool
		most     int32
	}{
		"QNN's emulator":        {"qnn", true, 1},
		"software WebGPU":       {"webgpu", true, 1},
		"WebGPU":                {"webgpu", false, 1},
		"ONNX Runtime on a GPU": {"cuda/onnxruntime", false, 1},
		"OpenVINO":              {"openvino", false, 1},
		"torch on a GPU":        {"cuda", false, 2},
	} {
		s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
			time.Sleep(100 * time.Millisecond) // long enough for another to join
			return good(n, job, on)
		}}
		plan, err := cells(cell.Cell{Type: "a", Target: tt.target}, cell.Cell{Type: "b", Target: tt.target}).Normal()
		if err != nil {
			t.Fatal(err)
		}
		l := &Lab{Runner: s, Recipes: sized{}, Machine: pretending{tt.software}, Workers: 2, Limit: 1 << 40}
		if err := l.Carry(t.Context(), plan, &notes{}); err != nil {
			t.Fatal(err)
		}
		if got := s.most.Load(); got != tt.most {
			t.Errorf("%s: %d children in parallel, want %d", name, got, tt.most)
		}
	}
}

package plan

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	cat := load(t)
	before := []cell.Cell{
		{Type: "bert"},
		{Type: "BERT", Family: "mine", Batch: 2},
		{Type: "bert", Size: cell.Full},
		{Type: "bert", Size: cell.Full, Checkpoint: "somebody/else"},
		{Type: "noop", Engine: "noop"},
		{Type: "wav2vec2-base-960h"},
		{Type: "bert", Size: cell.Full, Checkpoint: "bert-base-uncased"},
	}
	for i := range before {
		before[i] = before[i].Normal()
	}
	cells, err := Describe(cat, before)
	if err != nil {
		t.Fatal(err)
	}
	type said struct{ Type, Family, Checkpoint string }
	var got []said
	for _, c := range cells {
		got = append(got, said{c.Type, c.Family, c.Checkpoint})
		if c.Hash != c.Normal().Hash {
			t.Errorf("the hash of %+v is not its own", c)
		}
	}
	want := []said{
		{"bert", "encoder-only", ""},
		{"bert", "mine", ""},
		{"bert", "encoder-only", "google-bert/bert-base-uncased"},
		{"bert", "encoder-only", "somebody/else"},
		{"noop", "", ""},
		{"wav2vec2", "audio", "facebook/wav2vec2-base-960h"},
		{"bert", "encoder-only", "google-bert/bert-base-uncased"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if cells[0].Hash != before[0].Hash || cells[4] != before[4] {
		t.Error("what the catalogue adds changed a cell's identity")
	}
	_, err = Describe(cat, []cell.Cell{{Type: "bert"}, {Type: "bertt"}})
	if err == nil || !strings.HasPrefix(err.Error(), `cell 2: unknown model "bertt": the nearest names are bert`) {
		t.Errorf("an unknown model: %v", err)
	}
	_, err = Describe(cat, []cell.Cell{{Type: "bert"}, {Type: "bert", Target: "webgpu@netscape"}})
	if err == nil || !strings.HasPrefix(err.Error(), `cell 2: unknown browser "netscape"`) {
		t.Errorf("a browser that nobody knows: %v", err)
	}
}

// TestDescribeLocal: a cell that names a path runs where the path is, and
// elsewhere the plan says so before anything is run.
func TestDescribeLocal(t *testing.T) {
	t.Parallel()
	cat := load(t)
	dir := folder(t, map[string]string{"config.json": bertConfig, "model.safetensors": safetensors(), "graph.onnx": "a graph"})
	config, graph := filepath.Join(dir, "config.json"), filepath.Join(dir, "graph.onnx")
	for name, tc := range map[string]struct {
		cell cell.Cell
		want string // of the cell, or of the error
	}{
		"a config.json that is here":   {cell.Cell{Type: "bert", Checkpoint: config, Size: cell.Full}, config + " on cpu fp32 full random"},
		"weights that are here":        {cell.Cell{Type: "bert", Size: cell.Full, Weights: dir}, "google-bert/bert-base-uncased on cpu fp32 full " + dir},
		"a graph that is here":         {cell.Cell{Type: cell.ONNX, Checkpoint: graph}, graph + " on cpu/onnxruntime fp32 full " + dir},
		"a graph where none can run":   {cell.Cell{Type: cell.ONNX, Checkpoint: graph, Platform: "rocm"}, "has no engine that runs one"},
		"a graph that is not named":    {cell.Cell{Type: cell.ONNX}, "the cell names no ONNX file"},
		"a config.json that is not":    {cell.Cell{Type: "bert", Checkpoint: "/elsewhere/config.json"}, "/elsewhere/config.json is not on this machine: copy it here"},
		"a path of another system":     {cell.Cell{Type: "bert", Checkpoint: `C:\models\config.json`}, `C:\models\config.json is not on this machine`},
		"weights that are not":         {cell.Cell{Type: "bert", Checkpoint: config, Weights: "/elsewhere"}, "/elsewhere is not on this machine"},
		"a graph that is not":          {cell.Cell{Type: cell.ONNX, Checkpoint: "/elsewhere/graph.onnx"}, "/elsewhere/graph.onnx is not on this machine"},
		"a no-op, which reads nothing": {cell.Cell{Type: "noop", Engine: "noop", Weights: "/elsewhere"}, "noop on cpu/noop fp32 tiny /elsewhere"},
	} {
		got, err := Describe(cat, []cell.Cell{tc.cell.Normal()})
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "cell 1: ") && strings.Contains(err.Error(), tc.want):
		case err != nil || line(got[0]) != tc.want:
			t.Errorf("%s: %v, %v; want %s", name, lines(got), err, tc.want)
		}
	}
	// Named on a command line it is the same cell.
	p, _ := planner(t, nil)
	asked, err := p.Plan(t.Context(), asking([]string{graph}, "cpu"))
	if err != nil {
		t.Fatal(err)
	}
	filed, err := p.Plan(t.Context(), Request{Cells: []cell.Cell{{Type: cell.ONNX, Checkpoint: graph}}})
	if err != nil || filed.Hash() != asked.Hash() {
		t.Errorf("%v, %v: of a file %+v, of a command line %+v", err, filed.Hash(), filed, asked)
	}
}

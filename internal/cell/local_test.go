package cell

import (
	"slices"
	"testing"
)

// TestTravels: a cell that names a path stays where the path is, whichever
// system wrote it.
func TestTravels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cell Cell
		want []string // none: it travels
	}{
		"a type":                {Cell{Type: "bert"}, nil},
		"a checkpoint":          {Cell{Type: "bert", Checkpoint: "google-bert/bert-base-uncased", Revision: "v1", Size: Full, Weights: Hub}, nil},
		"an old checkpoint":     {Cell{Type: "bert", Checkpoint: "gpt2", Weights: Random}, nil},
		"a config.json":         {Cell{Type: "bert", Checkpoint: "/home/me/model/config.json"}, []string{"/home/me/model/config.json"}},
		"one of Windows":        {Cell{Type: "bert", Checkpoint: `C:\models\config.json`}, []string{`C:\models\config.json`}},
		"a share":               {Cell{Type: "bert", Checkpoint: `\\server\models\config.json`}, []string{`\\server\models\config.json`}},
		"one that is relative":  {Cell{Type: "bert", Checkpoint: "./config.json"}, []string{"./config.json"}},
		"one that is deeper":    {Cell{Type: "bert", Checkpoint: "models/bert/config.json"}, []string{"models/bert/config.json"}},
		"weights":               {Cell{Type: "bert", Weights: "/home/me/model"}, []string{"/home/me/model"}},
		"weights beside":        {Cell{Type: "bert", Weights: "model"}, []string{"model"}},
		"both":                  {Cell{Type: "bert", Checkpoint: "/a/config.json", Weights: "/b"}, []string{"/a/config.json", "/b"}},
		"a graph, with weights": {Cell{Type: ONNX, Checkpoint: "model.onnx", Weights: "/b"}, []string{"model.onnx"}},
		"a no-op":               {Cell{Type: "noop", Engine: "noop", Weights: "/b"}, nil},
	} {
		for _, c := range []Cell{tc.cell, tc.cell.Normal()} {
			if got := c.LocalPaths(); !slices.Equal(got, tc.want) || c.Travels() != (len(tc.want) == 0) {
				t.Errorf("%s: %q, travels %v; want %q", name, got, c.Travels(), tc.want)
			}
		}
	}
}

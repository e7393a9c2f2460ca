package report

import (
	"testing"

	"assay/internal/cell"
)

// TestControlWord: where damage was seen, by how much, and what would pass.
func TestControlWord(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		n    cell.Numerics
		want string
	}{
		"none":         {cell.Numerics{}, ""},
		"it did not":   {cell.Numerics{Control: &cell.Control{Kind: "negate-quarter", Where: cell.OnEngine}}, ""},
		"older result": {cell.Numerics{Tolerance: 1e-3, Control: &cell.Control{Kind: "zero-mlp", Change: new(0.5)}}, "in the reference: zero-mlp changed the output by 5.0e-1; it would pass up to 1e-3"},
		"on the engine": {
			cell.Numerics{Tolerance: 1e-3, Control: &cell.Control{Kind: "negate-quarter", Of: "lm_head", Where: cell.OnEngine, Change: new(0.25), Unmoved: []string{"boxes", "sizes"}}},
			"on the engine: negate-quarter of lm_head changed the output by 2.5e-1; it would pass up to 1e-3; no damage moves boxes, sizes",
		},
		"noise": {
			cell.Numerics{LeastSNRdB: new(20.0), Control: &cell.Control{Kind: "negate-weight", Of: "w", Where: cell.OnEngine, Change: new(0.25)}},
			"on the engine: negate-weight of w changed the output by 2.5e-1; it would pass with 20 dB",
		},
	} {
		if got := controlWord(&tc.n); got != tc.want {
			t.Errorf("%s: %q; want %q", name, got, tc.want)
		}
	}
}

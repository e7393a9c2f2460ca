package report

import (
	"strings"
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

// TestQuantisedFacts: what quantising lost and what the engine does are two numbers.
func TestQuantisedFacts(t *testing.T) {
	t.Parallel()
	yes := true
	weights := &cell.Numerics{MaxRel: new(0.02), SNRdB: new(42.45), LeastSNRdB: new(20.0), Reference: "cpu fp32", Quantised: &cell.Quantised{By: "ONNX Runtime", LossSNRdB: new(42.45), MaxRel: new(4.4e-7), Tolerance: 9e-6, Pass: &yes}}
	rounded := &cell.Numerics{MaxRel: new(0.02), SNRdB: new(34.0), LeastSNRdB: new(20.0), Reference: "cpu fp32", Quantised: &cell.Quantised{By: "OpenVINO", LossSNRdB: new(34.0), SNRdB: new(131.3), LeastSNRdB: new(40.0), Pass: &yes}}
	for name, tc := range map[string]struct {
		numerics            *cell.Numerics
		words, error, facts string
	}{
		"float":   {&cell.Numerics{MaxRel: new(2e-7), Tolerance: 1e-5, Reference: "cpu fp64"}, "error 2.0e-7", "2.0e-7 of the largest value, limit 1e-5, against cpu fp64", ""},
		"weights": {weights, "42.5 dB, engine's error 4.4e-7", "a signal-to-noise ratio of 42.5 dB, at least 20, against cpu fp32", "it leaves a signal-to-noise ratio of 42.5 dB; the engine is off by 4.4e-7, limit 9e-6, against ONNX Runtime on the same quantised model"},
		"rounded": {rounded, "34.0 dB, engine's own noise 131.3 dB", "a signal-to-noise ratio of 34.0 dB, at least 20, against cpu fp32", "it leaves a signal-to-noise ratio of 34.0 dB; the engine has 131.3 dB, at least 40, against OpenVINO on the same quantised model"},
		"neither": {&cell.Numerics{MaxRel: new(0.02), SNRdB: new(34.0), LeastSNRdB: new(20.0), Reference: "cpu fp32", Quantised: &cell.Quantised{Note: "not compared"}}, "34.0 dB", "a signal-to-noise ratio of 34.0 dB, at least 20, against cpu fp32", "not compared"},
	} {
		if got := strings.Join(errorWords(tc.numerics), ", "); got != tc.words {
			t.Errorf("%s: words %q", name, got)
		}
		if got := errorFact(tc.numerics); got != tc.error {
			t.Errorf("%s: error %q", name, got)
		}
		if got := quantisedFact(tc.numerics.Quantised); got != tc.facts {
			t.Errorf("%s: facts %q", name, got)
		}
	}
}

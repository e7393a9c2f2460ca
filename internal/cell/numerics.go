package cell

import (
	"encoding/json"
	"strings"
)

// Numerics is the comparison of the outputs with a reference.
type Numerics struct {
	MaxAbs    *float64 `json:"max_abs"` // nil when either side is not finite
	MaxRel    *float64 `json:"max_rel"` // max error over max |reference|; nil likewise
	Tolerance float64  `json:"tolerance"`
	// Rows is the row that is furthest off, of its own length: what one large
	// row would hide in the others. Nil where the recipe knows no rounding.
	Rows *Rows `json:"rows,omitempty"`
	// Margin is how many times further off it could have been and still pass;
	// nil where it is not off at all.
	Margin *float64 `json:"margin,omitempty"`
	// Precision is what it seems to compute in, where that is less than was
	// asked for: the error is what that precision rounds away.
	Precision string   `json:"precision,omitempty"`
	Reference string   `json:"reference"` // "cpu fp64", "cpu fp32", "attention eager"
	Pass      bool     `json:"pass"`
	Control   *Control `json:"control"` // nil where none was made
	// SNRdB is the worst output's signal-to-noise ratio and LeastSNRdB the one
	// that is asked for: quantised models are judged by it.
	SNRdB      *float64 `json:"snr_db,omitempty"`
	LeastSNRdB *float64 `json:"least_snr_db,omitempty"`
	// Quantised tells the engine's own error apart from what quantising lost;
	// nil where nothing is quantised.
	Quantised *Quantised `json:"quantised,omitempty"`
	// OutputHash is over the output's bytes: equal on the same CPU for the same cell.
	OutputHash string `json:"output_hash,omitempty"`
	Note       string `json:"note,omitempty"` // why the reference is another than the rule's first
	// Negligible are outputs too close to zero to judge, with their largest
	// magnitude: they are left out of the comparison.
	Negligible map[string]float64 `json:"negligible,omitempty"`
	// Samples are the other inputs that the model was run on, Sample the one of
	// them that is furthest off where one is wrong, and LeftOut those that say
	// nothing about this model or that its graph cannot be given.
	Samples []Sample `json:"samples,omitempty"`
	Sample  string   `json:"sample,omitempty"`
	LeftOut []Skip   `json:"left_out,omitempty"`
	// Around is what a library that runs the model makes by itself, before and
	// after it, against what transformers makes of the same.
	Around []Around `json:"around,omitempty"`
}

// Quantised is a quantised model against the same in floating point: how much
// quantising lost, and how far the engine is from what was quantised.
type Quantised struct {
	By        string   `json:"by,omitempty"`          // who ran it in floating point
	LossSNRdB *float64 `json:"loss_snr_db,omitempty"` // against the model that was quantised
	// MaxRel and Tolerance are the engine's where only weights are quantised;
	// SNRdB and LeastSNRdB where activations are rounded too.
	MaxRel     *float64 `json:"max_rel,omitempty"`
	Tolerance  float64  `json:"tolerance,omitempty"`
	SNRdB      *float64 `json:"snr_db,omitempty"`
	LeastSNRdB *float64 `json:"least_snr_db,omitempty"`
	Pass       *bool    `json:"pass"`           // nil: it could not be compared
	Note       string   `json:"note,omitempty"` // why not
}

// Wrong says whether the engine was seen to compute something other than what
// was quantised.
func (q *Quantised) Wrong() bool {
	return q != nil && q.Pass != nil && !*q.Pass
}

// Rows is the error of the worst row of an output, of its length.
type Rows struct {
	MaxRel    *float64 `json:"max_rel"` // nil when either side is not finite
	Tolerance float64  `json:"tolerance"`
	Cosine    float64  `json:"cosine"` // the least of a row
}

// Wrong says whether the rows are further off than they may be.
func (r *Rows) Wrong() bool {
	return r != nil && (r.MaxRel == nil || *r.MaxRel > r.Tolerance)
}

// Sample is one further set of inputs, and how far the outputs are off on it.
type Sample struct {
	Name   string   `json:"name"` // "padded at the end"
	MaxRel *float64 `json:"max_rel,omitempty"`
	SNRdB  *float64 `json:"snr_db,omitempty"`
	// Tolerance and LeastSNRdB are the model's, or wider in a narrow dtype where
	// this sample is more sensitive to rounding than the first.
	Tolerance  float64  `json:"tolerance,omitempty"`
	LeastSNRdB *float64 `json:"least_snr_db,omitempty"`
	Output     string   `json:"output,omitempty"` // the worst
	Pass       bool     `json:"pass"`
}

// UnmarshalJSON also reads results of older versions, where a sample that a
// graph cannot be given stood among those that it was run on, as passed.
func (n *Numerics) UnmarshalJSON(b []byte) error {
	type plain Numerics
	var read plain
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	var old struct {
		Samples []struct{ Fixed []string }
	}
	if err := json.Unmarshal(b, &old); err != nil {
		return err
	}
	samples := read.Samples
	read.Samples = nil
	for i, s := range samples {
		if fixed := old.Samples[i].Fixed; len(fixed) > 0 {
			read.LeftOut = append(read.LeftOut, Skip{s.Name, "the graph has fixed " + strings.Join(fixed, ", ")})
			continue
		}
		read.Samples = append(read.Samples, s)
	}
	*n = Numerics(read)
	return nil
}

// Skip is a sample that was left out, with the reason.
type Skip struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Around is one thing that a library makes around a model.
type Around struct {
	What   string   `json:"what"`
	MaxRel *float64 `json:"max_rel"` // nil for words, and where it was not compared
	Pass   *bool    `json:"pass"`    // nil: there was nothing to compare it with
}

// OtherInput is the kind of control that damages nothing: the outputs of another
// input must be seen to differ. It says less than damage.
const OtherInput = "other-input"

// OnEngine is where a control was made when the engine itself ran the damaged
// model; otherwise only the reference did.
const OnEngine = "engine"

// Control is the negative control: a damaged model must be seen as damaged.
type Control struct {
	Kind   string   `json:"kind"`             // a kind of damage, the smallest that must be seen, or OtherInput
	Change *float64 `json:"change"`           // as MaxRel; must be at least 10 × the tolerance; nil when the damage made it not finite
	SNRdB  *float64 `json:"snr_db,omitempty"` // of the damaged model, where that is the measure
	Pass   bool     `json:"pass"`
	Where  string   `json:"where,omitempty"` // OnEngine, or "reference"; older results do not say
	Why    string   `json:"why,omitempty"`   // why it was not made on the engine, where it could have been
	Of     string   `json:"of,omitempty"`    // the weights that were damaged
	// Expected is the change that ONNX Runtime shows for the same damage (torch,
	// where the model was damaged there and written again), and Off how far the
	// engine's damaged outputs are from its: at most a tenth of the change.
	Expected *float64 `json:"expected,omitempty"`
	Off      *float64 `json:"off,omitempty"`
	Unmoved  []string `json:"unmoved,omitempty"` // outputs that no damage moves: the check says little about them
	Note     string   `json:"note,omitempty"`    // what is wrong with it
}

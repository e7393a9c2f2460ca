package cell

// Numerics is the comparison of the outputs with a reference.
type Numerics struct {
	MaxAbs    *float64 `json:"max_abs"` // nil when either side is not finite
	MaxRel    *float64 `json:"max_rel"` // max error over max |reference|; nil likewise
	Tolerance float64  `json:"tolerance"`
	Reference string   `json:"reference"` // "cpu fp64", "cpu fp32", "attention eager"
	Pass      bool     `json:"pass"`
	Control   *Control `json:"control"` // nil where none was made
	// SNRdB is the worst output's signal-to-noise ratio and LeastSNRdB the one
	// that is asked for: quantised models are judged by it.
	SNRdB      *float64 `json:"snr_db,omitempty"`
	LeastSNRdB *float64 `json:"least_snr_db,omitempty"`
	// OutputHash is over the output's bytes: equal on the same CPU for the same cell.
	OutputHash string `json:"output_hash,omitempty"`
	Note       string `json:"note,omitempty"` // why the reference is another than the rule's first
	// Negligible are outputs too close to zero to judge, with their largest
	// magnitude: they are left out of the comparison.
	Negligible map[string]float64 `json:"negligible,omitempty"`
	// Around is what a library that runs the model makes by itself, before and
	// after it, against what transformers makes of the same.
	Around []Around `json:"around,omitempty"`
}

// Around is one thing that a library makes around a model.
type Around struct {
	What   string   `json:"what"`
	MaxRel *float64 `json:"max_rel"` // nil for words, and where it was not compared
	Pass   *bool    `json:"pass"`    // nil: there was nothing to compare it with
}

// Control is the negative control: a damaged model must be seen as damaged.
type Control struct {
	Kind   string   `json:"kind"`             // zero-index, zero-attention, zero-mlp, other-input
	Change *float64 `json:"change"`           // as MaxRel; must be at least 10 × the tolerance; nil when the damage made it not finite
	SNRdB  *float64 `json:"snr_db,omitempty"` // of the damaged model, where that is the measure
	Pass   bool     `json:"pass"`
}

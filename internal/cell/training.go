package cell

// Training is what steps of training took and gave, in mode train. A step is a
// forward with its loss, a backward, and the optimiser's step.
type Training struct {
	Objective string  `json:"objective"` // what the loss is of
	Rate      float64 `json:"rate"`      // of learning, in the check: by rule, so that a first step shows
	// Losses are those of a few steps on one batch, nothing dropped; nil entries
	// are not finite. ReferenceLosses are those of a plain loop on the CPU in a
	// wider dtype, moved by the optimiser's rule written out.
	Losses          []*float64 `json:"losses"`
	ReferenceLosses []float64  `json:"reference_losses"`
	Falls           *bool      `json:"falls"`     // nil where half precision hides it
	Gradients       *Gradients `json:"gradients"` // nil where no loss is finite
	// Parts are the times of forward, backward and step, the device awaited after
	// each; nil where nothing was timed. Whole steps, awaited at their ends only,
	// are the latency.
	Parts map[string]Spread `json:"parts_ms,omitempty"`
}

// Gradients are those of a first step against the reference's, parameter by
// parameter, and how far the optimiser moved each.
type Gradients struct {
	Judged     int      `json:"judged"`     // parameters
	Negligible int      `json:"negligible"` // whose gradients are rounding beside the others'
	MaxRel     *float64 `json:"max_rel"`    // length of the difference over the reference's; nil is not finite
	Worst      string   `json:"worst"`
	Tolerance  float64  `json:"tolerance"`
	Missed     []string `json:"missed"` // moved less than half, or more than twice as far as the reference's
	Pass       bool     `json:"pass"`
}

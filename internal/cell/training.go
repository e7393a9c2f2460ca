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
	// Adapters are what was trained in place of the weights; nil is the weights.
	Adapters *Adapters `json:"adapters,omitempty"`
	// Parts are the times of forward, backward and step, the device awaited after
	// each; nil where nothing was timed. Whole steps, awaited at their ends only,
	// are the latency.
	Parts map[string]Spread `json:"parts_ms,omitempty"`
}

// Adapters are small matrices beside weights that stay as they are.
type Adapters struct {
	Kind       string   `json:"kind"` // lora
	Rank       int      `json:"rank"`
	Modules    int      `json:"modules"`    // layers that have one
	Parameters int64    `json:"parameters"` // of the adapters
	BaseMoved  []string `json:"base_moved"` // weights beside them that moved all the same
	Pass       bool     `json:"pass"`
	Control    *Control `json:"control"` // one weight of the base was trained too, and had to be noticed
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

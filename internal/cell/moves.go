package cell

// Moves is what going to a device and coming back does to a model, and to the
// device's memory, in scenario moves. Nil is unknown.
type Moves struct {
	Rounds int `json:"rounds"`
	// WeightsSame says whether weights and buffers have the bits that they had.
	WeightsSame bool `json:"weights_same"`
	// HomeSame and ThereSame say the same of what the model gives, at home before
	// and after, and on the device from one time to the next; nil where two runs
	// without a move between them differ already.
	HomeSame  *bool `json:"home_same"`
	ThereSame *bool `json:"there_same"`
	// Untied is how many more tensors the model has afterwards: on some devices
	// torch makes two of what was one.
	Untied     int   `json:"untied"`
	ModelBytes int64 `json:"model_bytes"` // of weights and buffers, tied ones once
	// What torch's tensors took of the device: before the model came, with it
	// there, and how much more than before once it was back, round by round.
	BeforeBytes *int64   `json:"before_bytes"`
	ThereBytes  []*int64 `json:"there_bytes"`
	LeftBytes   []*int64 `json:"left_bytes"`
	SlackBytes  int64    `json:"slack_bytes"` // what may be left
	PeakBytes   *int64   `json:"peak_bytes"`
	// Control kept a tensor on the device: the same reading had to notice it.
	Control *KeptMemory `json:"control"`
	// ToMS and BackMS are medians over the rounds of the check.
	ToMS   float64 `json:"to_ms"`
	BackMS float64 `json:"back_ms"`
	// Parts are the two ways of the timed round trips; nil where nothing was timed.
	Parts map[string]Spread `json:"parts_ms,omitempty"`
}

// KeptMemory is memory that was kept on a device on purpose, and how much of it
// was seen.
type KeptMemory struct {
	KeptBytes int64 `json:"kept_bytes"`
	SeenBytes int64 `json:"seen_bytes"`
	Pass      bool  `json:"pass"`
}

// Left is the most that a model left on the device, nil where no round could tell.
func (m *Moves) Left() *int64 {
	var most *int64
	for _, n := range m.LeftBytes {
		if n == nil {
			return nil
		}
		if most == nil || *n > *most {
			most = n
		}
	}
	return most
}

package cell

// Requests is what whole requests are made of, in mode pipeline: processors
// read raw material, the model runs, and an answer is read off its outputs.
type Requests struct {
	Reads   string   `json:"reads"`   // which processors make which inputs
	Answers string   `json:"answers"` // what is read off the outputs
	Drawn   []string `json:"drawn"`   // inputs that nothing natural is made into
	// Parts are the times of preprocess, model and postprocess, the device
	// awaited after each; nil where nothing was timed. Whole requests are the
	// latency.
	Parts map[string]Spread `json:"parts_ms,omitempty"`
}

package cell

// Generation is what continuing a prompt by a fixed number of tokens took: over
// the timed repeats where there are any, else as the check saw it.
type Generation struct {
	PromptTokens int `json:"prompt_tokens"`
	NewTokens    int `json:"new_tokens"`
	// PrefillMS is the time to the logits of the first token: the prompt is read.
	// Nil where the engine does not tell it apart.
	PrefillMS *float64 `json:"prefill_ms"`
	// TTFT is the time until the first token's id is known, TPOT the time per
	// token after it, of whole generations. Between pools the times between tokens.
	TTFT    *Spread `json:"ttft_ms,omitempty"`
	TPOT    *Spread `json:"tpot_ms,omitempty"`
	Between *Spread `json:"between_tokens_ms,omitempty"`
	// TokensPerS is the decode rate of the whole batch, by TPOT.
	TokensPerS *float64 `json:"tokens_per_s"`
	// AgreedTokens is how many were chosen as the reference chose them before
	// the two parted: their logits were compared up to there.
	AgreedTokens *int     `json:"agreed_tokens,omitempty"`
	OnePass      *OnePass `json:"one_pass,omitempty"`
	// IDs are the tokens, row by row of the batch; Strayed counts timed
	// generations that chose others.
	IDs     [][]int `json:"ids,omitempty"`
	Strayed int     `json:"strayed,omitempty"`
	// StreamsMS are when each token was known, since its generation was asked
	// for: by repeat, generation and token.
	StreamsMS [][][]float64 `json:"streams_ms,omitempty"`
}

// OnePass is how a generation compares with one pass over its whole text, without
// a cache.
type OnePass struct {
	Tokens    *int     `json:"tokens"`  // before the first that the pass would not have chosen
	MaxRel    *float64 `json:"max_rel"` // of the logits
	Tolerance float64  `json:"tolerance"`
	Pass      *bool    `json:"pass"` // nil: not compared, and the note says why
	Note      string   `json:"note,omitempty"`
}

// Wrong reports whether the two were compared and differ.
func (o *OnePass) Wrong() bool { return o != nil && o.Pass != nil && !*o.Pass }

// Spread is a time of which there are many, in milliseconds. The median is that
// of the repeats' medians; the percentiles are MLPerf's estimates by early
// stopping over all n, nil where that many do not allow one.
type Spread struct {
	Median float64  `json:"median"`
	Lo     *float64 `json:"lo"` // nil with fewer than six repeats
	Hi     *float64 `json:"hi"`
	P90    *float64 `json:"p90"`
	P95    *float64 `json:"p95"`
	P99    *float64 `json:"p99"`
	N      int      `json:"n"`
}

// Package facts has what is derived about a model without running it: its
// parameters, the operations and bytes of one forward, its activations and the
// operators it needs. A runner derives them (docs/protocol.md, "Facts"); here
// they are values that programs may read, and a cache that keeps them.
//
// A Sheet answers one Question: this recipe, at this input size, with these
// versions of software and this runner. The question's key names its answer in
// the cache, so that an answer is never older than what it was derived from.
package facts

import (
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/cell"
)

// Schema is the version of the sheet's JSON that this program reads.
const Schema = 1

// Sheet is everything that was derived of one model. Nil is unknown, and then
// Missing has the reason under the field's JSON name.
type Sheet struct {
	Schema     int           `json:"schema"`
	Evidence   cell.Evidence `json:"evidence"` // always derived
	Type       string        `json:"type"`
	Class      string        `json:"class"`
	Task       string        `json:"task"`
	Size       string        `json:"size"`
	Checkpoint string        `json:"checkpoint"`

	Sizes     map[string]int `json:"sizes"` // batch, and those of the recipe's that inputs depend on
	DType     string         `json:"dtype"`
	Method    *string        `json:"method"` // shapes or cpu
	Attention *string        `json:"attention"`
	Experts   *Experts       `json:"experts"`
	Inputs    []cell.Output  `json:"inputs"`
	Outputs   []cell.Output  `json:"outputs"`

	Parameters   *Parameters      `json:"parameters"`
	WeightsBytes map[string]int64 `json:"weights_bytes"` // by the dtype they may be held in
	BuffersBytes *int64           `json:"buffers_bytes"`
	Flops        *Flops           `json:"flops"`
	Bytes        *Bytes           `json:"bytes"`
	Activations  *Activations     `json:"activations"`
	Operators    *Operators       `json:"operators"`

	Notes   []string          `json:"notes"`
	Missing map[string]string `json:"missing"`
}

// Experts says, of a mixture, which implementation was looked at and which
// experts its operations count.
type Experts struct {
	Implementation string `json:"implementation"`
	Counted        string `json:"counted"`
}

// Parameters are counts; tied ones count once.
type Parameters struct {
	Total     int64            `json:"total"`
	Trainable int64            `json:"trainable"`
	ByDType   map[string]int64 `json:"by_dtype"`
	Modules   []Module         `json:"modules"`
}

// Module is a part at the top of the model; "" is what belongs to none.
type Module struct {
	Name       string `json:"name"`
	Class      string `json:"class"`
	Parameters int64  `json:"parameters"`
}

// Flops are floating-point operations of one forward; a multiply-add is two.
type Flops struct {
	Total      int64            `json:"total"`
	ByOperator map[string]int64 `json:"by_operator"`
	NotCounted map[string]int64 `json:"not_counted"` // calls of operators without a formula
	Note       string           `json:"note"`
}

// Bytes are what operators read and write, as if there were no cache.
type Bytes struct {
	Read    int64 `json:"read"`
	Written int64 `json:"written"`
}

// Activations are what operators make, and the most that is held at once.
type Activations struct {
	SumBytes  int64 `json:"sum_bytes"`
	PeakBytes int64 `json:"peak_bytes"`
	Tensors   int64 `json:"tensors"`
}

// Operators is the census, the most frequent first.
type Operators struct {
	Calls       int64      `json:"calls"`
	Distinct    int        `json:"distinct"`
	Rows        []Operator `json:"rows"`
	RowsLeftOut int        `json:"rows_left_out"`
}

// Operator is an ATen operator with the dtypes of its tensors.
type Operator struct {
	Name          string   `json:"operator"`
	DTypes        []string `json:"dtypes"`
	View          bool     `json:"view"` // moves no data
	Count         int64    `json:"count"`
	Shapes        []Shapes `json:"shapes"` // the most common ones
	ShapesLeftOut int      `json:"shapes_left_out"`
}

// Shapes are those of one call's tensors.
type Shapes struct {
	Inputs [][]int `json:"inputs"`
	Count  int64   `json:"count"`
}

// Parse reads a sheet as a runner wrote it.
func Parse(b []byte) (*Sheet, error) {
	var s Sheet
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("cannot parse the facts: %w", err)
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("the facts have schema %d and this program reads %d: update the older of the two", s.Schema, Schema)
	}
	if s.Evidence != cell.Derived || s.Class == "" {
		return nil, errors.New("the facts name no class, or say that they are not derived")
	}
	return &s, nil
}

package cell

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/input"
)

// Timing says how long each repeat of a cell is timed.
type Timing string

// The timings: one run to see whether it works, a short bench, a full one.
const (
	Functional Timing = "test"
	Quick      Timing = "quick"
	Thorough   Timing = "full"
)

// Thoroughness orders timings: a larger one says all that a smaller one does.
func (t Timing) Thoroughness() int { return slices.Index([]Timing{Functional, Quick, Thorough}, t) }

// Plan is an ordered set of cells and how to run them.
type Plan struct {
	Cells  []Cell `json:"cells"`
	Timing Timing `json:"timing,omitempty"` // "" is Functional
	// Strict forbids fallback and left-over nodes.
	Strict bool `json:"strict,omitempty"`
	// NoAdapt forbids lowering batch, input size or dtype when memory runs out.
	NoAdapt bool `json:"no_adapt,omitempty"`
	// NoFallback records an absent platform as unavailable and runs nothing
	// elsewhere: what a matrix does.
	NoFallback bool `json:"no_fallback,omitempty"`
	// Laws tries the laws of right models too, of tiny models on the CPU in fp32;
	// Scripts wants a script for each that is broken.
	Laws    bool `json:"laws,omitempty"`
	Scripts bool `json:"scripts,omitempty"`
	// TimeoutS limits one child, in seconds; 0 is the lab's own limit.
	TimeoutS float64 `json:"timeout_s,omitempty"`
	// WaitQuietS is how long timing waits for other programs to leave the
	// processor alone, in seconds, before each round of repeats; 0 does not wait.
	// What is still busy then is timed, and its times are marked.
	WaitQuietS float64 `json:"wait_quiet_s,omitempty"`
	// MaxTempC is how warm the processor and a GPU that is timed may be when a
	// round of repeats begins, in degrees: hotter ones are waited for. 0 is any.
	MaxTempC float64 `json:"max_temp_c,omitempty"`
	// Pin holds timed children to these processors, as Linux lists them: 0-3,8.
	Pin string `json:"pin,omitempty"`
	// Repeats overrides the number of fresh children a timed cell gets.
	Repeats int `json:"repeats,omitempty"`
}

// Timed reports whether cells that work are to be timed.
func (p Plan) Timed() bool { return p.Timing != Functional && p.Timing != "" }

// MaxPlan is how large a plan file may be, in bytes.
const MaxPlan = 256 << 20

// ReadPlan reads a plan file. Unknown fields, trailing text and invalid cells
// are errors that name the place.
func ReadPlan(r io.Reader) (Plan, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxPlan+1))
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	if len(b) > MaxPlan {
		return Plan{}, fmt.Errorf("the plan is larger than %d MB", MaxPlan>>20)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // editors of Windows begin files with it
	if len(bytes.TrimSpace(b)) == 0 {
		return Plan{}, errors.New("the plan is empty")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var p Plan
	if err := d.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("plan is not valid: %w (%s)", input.InWords(err), place(b, offset(b, err, d.InputOffset())))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Plan{}, fmt.Errorf("plan is not valid: text after its end (%s)", place(b, d.InputOffset()))
	}
	return p.Normal()
}

// offset is where in b the decoder found the error. It stands at the value's
// end when it reports an unknown field, so that is looked for by its name.
func offset(b []byte, err error, end int64) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &kind):
		return kind.Offset
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		if at := bytes.Index(b, []byte(name)); at >= 0 {
			return int64(at)
		}
	}
	return end
}

func place(b []byte, off int64) string {
	off = min(off, int64(len(b)))
	return fmt.Sprintf("line %d", 1+bytes.Count(b[:off], []byte("\n")))
}

// mostSeconds is a limit beyond which a duration would overflow some day.
const mostSeconds = 365 * 24 * 3600

// Normal validates the plan, normalises its cells and drops repeated ones. A cell
// whose target does not have its dtype may stand beside others: see Pair.
func (p Plan) Normal() (Plan, error) {
	if len(p.Cells) == 0 {
		return Plan{}, errors.New("the plan has no cells")
	}
	if p.Timing == "" {
		p.Timing = Functional
	}
	if !slices.Contains([]Timing{Functional, Quick, Thorough}, p.Timing) {
		return Plan{}, fmt.Errorf("unknown timing %q: the timings are test, quick, full", p.Timing)
	}
	if _, err := ParseCPUs(p.Pin); err != nil {
		return Plan{}, fmt.Errorf("pin: %w", err)
	}
	if p.MaxTempC < 0 || p.MaxTempC > 150 {
		return Plan{}, errors.New("max_temp_c must be between 0 and 150 degrees")
	}
	if s := max(p.TimeoutS, p.WaitQuietS); min(p.TimeoutS, p.WaitQuietS) < 0 || s > mostSeconds {
		return Plan{}, fmt.Errorf("timeout_s and wait_quiet_s must be between 0 and %d, a year", mostSeconds)
	}
	if p.Repeats < 0 || p.Repeats > 1000 {
		return Plan{}, errors.New("repeats must not be negative, and repeats is at most 1000")
	}
	seen := map[string]bool{}
	var cells []Cell
	odd, first := 0, error(nil)
	for i, c := range accompanied(p.Cells) {
		err := c.Validate()
		if pair := (*PairError)(nil); errors.As(err, &pair) { // the cell is unavailable, and the others run
			if odd++; first == nil {
				first = fmt.Errorf("cell %d: %w", i+1, err)
			}
		} else if err != nil {
			return Plan{}, fmt.Errorf("cell %d: %w", i+1, err)
		}
		c = c.Normal()
		if !seen[c.Hash] {
			seen[c.Hash] = true
			cells = append(cells, c)
		}
	}
	if odd == len(p.Cells) { // nothing is left that can run
		return Plan{}, first
	}
	p.Cells = cells
	return p, nil
}

// Hash is over everything in the plan.
func (p Plan) Hash() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Without is the plan without the cells that results answer. Those under which
// the machine broke are left to be run again.
func (p Plan) Without(done []Result) Plan {
	answered := map[string]bool{}
	for _, r := range done {
		if !r.Broke() {
			answered[r.AskedHash()] = true
		}
	}
	left := p
	left.Cells = slices.DeleteFunc(slices.Clone(p.Cells), func(c Cell) bool { return answered[c.Normal().Hash] })
	return left
}

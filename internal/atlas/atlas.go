// Package atlas is what Assay knows before anything is installed: a data set of
// results, embedded in the program, made from the journals that lie in the
// repository and never by hand.
//
// A Claim says what is known of one type of the catalogue, tiny and with random
// weights, on one target in one dtype: the verdict with its evidence, why it is
// less than works, where its operations ran, how far it was off, and the run,
// host, versions and day behind it. Unknown is a value: where nobody ran a type,
// its claim says so and why. A claim other than unknown without a run is refused
// (Check), and evidence stays what it was.
//
// The file (file.go) is lines of JSON under brotli, one for each type, so that a
// question about one type reads one line. Ask (ask.go) answers a question from
// the claims and from the user's own results, which outrank them; text.go prints
// it. internal/atlas/build makes the claims from journals.
package atlas

import (
	"errors"
	"fmt"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Schema is the version of the file.
const Schema = 1

// Most is how many bytes the embedded file may take.
const Most = 3 << 20

// Column is a target in one dtype.
type Column struct {
	Target string         `json:"target"`
	DType  platform.DType `json:"dtype"`
}

// Atlas is all claims.
type Atlas struct {
	Transformers, Diffusers string // the releases whose types these are
	Columns                 []Column
	Rows                    []Row // by type
}

// Row is what is known of a type, a claim for each column in their order.
type Row struct {
	Type   string
	Claims []Claim
}

// Claim is what is known of a type on a target in a dtype.
type Claim struct {
	Column
	Verdict  cell.Verdict  `json:"verdict"`
	Evidence cell.Evidence `json:"evidence"`
	// Basis is the evidence of the type's claim, where it speaks for a checkpoint:
	// that one is only predicted.
	Basis cell.Evidence `json:"basis,omitempty"`
	// Of is what ran: "bert, tiny, random weights". "" is nothing.
	Of     string            `json:"of,omitempty"`
	Note   string            `json:"note,omitempty"`
	Class  cell.FailureClass `json:"class,omitempty"`
	Detail string            `json:"detail,omitempty"` // of the failure
	// Placement counts operations by the device that they ran on, and LeftOver
	// those that did not run where they were asked to, by operator.
	Placement map[string]int `json:"placement,omitempty"`
	LeftOver  map[string]int `json:"left_over,omitempty"`
	// Error is the largest, of the largest value; nil where nothing was compared.
	// Quantised models are judged by SNRdB.
	Error     *float64 `json:"error,omitempty"`
	Tolerance float64  `json:"tolerance,omitempty"`
	SNRdB     *float64 `json:"snr_db,omitempty"`

	Versions map[string]string `json:"versions,omitempty"` // that were tried; others were not
	Run      *Run              `json:"run,omitempty"`      // nil where nothing is known
	At       time.Time         `json:"at,omitzero"`
}

// Run is what a claim comes from.
type Run struct {
	ID    string `json:"id,omitempty"`    // "" for own results
	Assay string `json:"assay,omitempty"` // version
	Host  Host   `json:"host"`
}

// Host is the machine of a run: its facts, and no name.
type Host struct {
	ID          string   `json:"id"`
	OS          string   `json:"os,omitempty"`
	Arch        string   `json:"arch,omitempty"`
	CPU         string   `json:"cpu,omitempty"`
	Cores       int      `json:"cores,omitempty"`
	MemoryBytes int64    `json:"memory_bytes,omitempty"`
	Devices     []string `json:"devices,omitempty"`
}

// Unknown is the claim that nothing is known, with the reason.
func Unknown(c Column, why string) Claim {
	return Claim{Column: c, Verdict: cell.Unknown, Evidence: cell.None, Note: why}
}

// Known reports whether the claim is more than unknown.
func (c Claim) Known() bool { return c.Verdict != cell.Unknown }

// Shown is the claim's verdict as people are shown it.
func (c Claim) Shown() cell.Verdict { return cell.Shown(c.Verdict, c.Evidence) }

// Of is the claim that a result makes, without its run.
func Of(r cell.Result) Claim {
	c := Claim{
		Column: Column{r.Cell.Target, r.Cell.DType}, Verdict: r.Verdict, Evidence: r.Evidence, Of: subject(r.Cell),
		Note: r.Note, Versions: versions(r.Context), At: r.StartedAt.UTC().Truncate(time.Second),
	}
	if f := r.Failure; f != nil {
		c.Class, c.Detail = f.Class, f.Detail
	}
	if n := r.Numerics; n != nil {
		c.Error, c.Tolerance, c.SNRdB = n.MaxRel, n.Tolerance, n.SNRdB
	}
	if p := r.Placement; p != nil {
		c.Placement = p.Nodes
		for _, l := range p.LeftOver {
			if c.LeftOver == nil {
				c.LeftOver = map[string]int{}
			}
			c.LeftOver[l.Operator] += l.Count
		}
	}
	return c
}

// subject is what ran.
func subject(c cell.Cell) string {
	weights := "its own weights"
	if c.Weights == cell.Random {
		weights = "random weights"
	}
	name := c.Type
	if c.Checkpoint != "" && c.Size == cell.Full {
		name = c.Checkpoint
	}
	return fmt.Sprintf("%s, %s, %s", name, c.Size, weights)
}

// versions are those of a result, the browser's among them.
func versions(c cell.Context) map[string]string {
	if c.Browser == nil {
		return c.Versions
	}
	all := map[string]string{"browser": c.Browser.Name + " " + c.Browser.Version}
	for name, v := range c.Versions {
		all[name] = v
	}
	return all
}

// Check says what is wrong with an atlas: a type with too few or too many claims,
// a verdict without a run behind it, an unknown without a reason.
func (a Atlas) Check() error {
	var wrong []error
	for _, row := range a.Rows {
		if len(row.Claims) != len(a.Columns) {
			wrong = append(wrong, fmt.Errorf("%s has %d claims for %d columns", row.Type, len(row.Claims), len(a.Columns)))
			continue
		}
		for i, c := range row.Claims {
			if err := c.check(a.Columns[i]); err != nil {
				wrong = append(wrong, fmt.Errorf("%s on %s %s: %w", row.Type, c.Target, c.DType, err))
			}
		}
	}
	return errors.Join(wrong...)
}

func (c Claim) check(at Column) error {
	known := cell.Result{Cell: cell.Cell{Type: "x", Target: c.Target, DType: c.DType}.Normal(), Verdict: c.Verdict, Evidence: c.Evidence}
	switch {
	case c.Column != at:
		return fmt.Errorf("it stands in the column of %s %s", at.Target, at.DType)
	case known.Known() != nil:
		return known.Known()
	case !c.Known() && c.Note == "":
		return errors.New("it is unknown for no reason")
	case !c.Known() && (c.Evidence != cell.None || c.Run != nil):
		return errors.New("it is unknown and has evidence")
	case c.Known() && (c.Run == nil || c.Run.ID == "" || c.At.IsZero() || len(c.Versions) == 0):
		return fmt.Errorf("it %s, and no run with a day and versions is behind it", c.Verdict)
	}
	return nil
}

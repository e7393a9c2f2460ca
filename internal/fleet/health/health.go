// Package health tells whether a worker of a fleet can be trusted. It is
// arithmetic on values: who runs health cells, and what happens to a worker that fails,
// is the coordinator's and the worker's matter.
//
// A health cell is one whose answer is known. Cells names those of a worker: a tiny BERT
// on each of its targets. On the processor the answer is the fingerprint that the
// catalogue has kept of the model (numbers that every right processor gives to five
// digits); on other targets it is what the processor of the same machine computed, which
// the first cell vouches for. Check compares. Nothing is echoed: a worker that makes
// answers up would have to compute them.
//
// A worker runs its health cells before its first task and then every half an hour. One
// that fails is put into quarantine, and what was accepted from it since it last passed is
// marked, since nobody knows when it broke.
//
// A machine can also be wrong in ways that one cell does not show: slow, because it is
// throttled, or failing where its like do not. Outliers compares results of one
// cell on machines that are alike, and names those that stand apart.
package health

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/platform"
)

// Every is how often a worker shows that it is healthy.
const Every = 30 * time.Minute

// Subject is the type of the model whose answer is known.
const Subject = "bert"

// Due reports whether a worker must run its health cells before the next task. A clock that was
// set back does not put that off.
func Due(good, now time.Time) bool {
	return good.IsZero() || now.Sub(good) >= Every || now.Before(good)
}

// Cells are a worker's health cells: one for each of its targets, the processor first.
// Where it has only no-ops there is nothing to compute, and the cell is one of them.
func Cells(a fleet.Announcement) []cell.Cell {
	var out []cell.Cell
	seen := map[string]bool{}
	for _, o := range a.Offers {
		if o.Target.Engine == platform.Noop {
			continue
		}
		t := o.Target.Normal()
		c := cell.Cell{Type: Subject, Platform: t.Platform, Device: t.Device, Engine: t.Engine, Browser: t.Browser}.Normal()
		if !seen[c.Hash] && t.HasDType(c.DType) {
			seen[c.Hash] = true
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b cell.Cell) int { return cmp.Compare(rank(a), rank(b)) })
	if len(out) == 0 {
		out = append(out, cell.Cell{Type: "noop", Engine: platform.Noop}.Normal())
	}
	return out
}

// rank is 0 for the cell that vouches for the others.
func rank(c cell.Cell) int {
	if fingerprinted(c) {
		return 0
	}
	return 1
}

// fingerprinted reports whether the cell's answer is a number that was kept.
func fingerprinted(c cell.Cell) bool {
	return c.Platform == platform.CPU && c.Engine == platform.Torch && c.DType == platform.FP32
}

// Answer is what was kept of the health cells' model; see catalog.Fingerprint.
type Answer = cell.KeptFingerprint

// Check says what is wrong with the results of a worker's health cells; nil is nothing. known may be
// nil, and the release of transformers may be another than the answer is of: then the comparison
// with the reference must do.
func Check(cells []cell.Cell, results []cell.Result, known *Answer) error {
	var wrong []error
	for _, c := range cells {
		i := slices.IndexFunc(results, func(r cell.Result) bool { return r.AskedHash() == c.Hash && r.Cell.Hash == c.Hash })
		if i < 0 {
			wrong = append(wrong, fmt.Errorf("the health cell on %s has no result", c.Target))
			continue
		}
		if err := check(&results[i], known); err != nil {
			wrong = append(wrong, fmt.Errorf("the health cell on %s: %w", c.Target, err))
		}
	}
	return errors.Join(wrong...)
}

func check(r *cell.Result, known *Answer) error {
	if r.Failure != nil {
		return fmt.Errorf("%s: %s", r.Failure.Class, r.Failure.Detail)
	}
	if r.Verdict != cell.Works && r.Verdict != cell.Partial {
		return fmt.Errorf("its verdict is %s", r.Verdict)
	}
	if r.Cell.Engine == platform.Noop {
		return nil
	}
	if r.Actual != nil && r.Actual.Target != r.Cell.Target {
		return fmt.Errorf("it ran on %s", r.Actual.Target)
	}
	n := r.Numerics
	switch {
	case n == nil:
		return errors.New("its numbers were not compared with anything")
	case !n.Pass:
		return errors.New("its numbers are wrong")
	case n.Control == nil || !n.Control.Pass:
		return errors.New("its check would not notice a damaged model")
	}
	if fingerprinted(r.Cell) {
		return answered(r, known)
	}
	return nil
}

// answered compares the fingerprint with the one that was kept.
func answered(r *cell.Result, known *Answer) error {
	switch {
	case r.Fingerprint == nil:
		return errors.New("it has no fingerprint")
	case known == nil || known.Subject != r.SubjectHash:
		return nil // another release computes another model
	}
	sample, output, by, both := known.Difference(r.Fingerprint)
	if both && by > cell.FingerprintTolerance {
		return fmt.Errorf("its answer is not the known one: %s is off by %.2g of its length (%s)", output, by, sample)
	}
	return nil
}

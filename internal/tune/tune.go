// Package tune finds out, by measuring in a real browser, what makes models
// start sooner or run faster there, and keeps what it found.
//
// Every question is the same one: two ways of doing a thing, a and b, and
// whether b is faster. A repeat asks both in fresh pages of a fresh browser,
// every other time b first, so that neither profits from what the machine does
// meanwhile. What the repeats give is compared as everything in Assay is
// (internal/measure): a ratio of medians, its interval, and the words "no
// difference" where the interval shows none. The questions are
//
//   - warm start: a first request that compiles shaders, against one for which
//     they were compiled before (warm.go);
//   - parallel load: a model's parts loaded by one page one after the other,
//     against a page for each at the same time (load.go);
//   - workgroup size: our own WGSL kernels at their default size, against the
//     best of the others. A few pages measure all sizes and name a candidate;
//     fresh ones then compare it with the default, because the best of many is
//     always better than it is (kernels.go);
//   - own kernel: our kernels at the sizes chosen, against the stock ones that
//     do the same (duel.go).
//
// The page checks a kernel against a reference before it times it; one whose
// numbers are wrong is refused. Sizes that were chosen go into a Book, one file
// for all browsers and adapters of this user, from which later runs take them.
package tune

import (
	"context"
	"errors"
	"strings"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/measure"
	"assay/internal/pages"
	"assay/internal/platform"
)

// Page is an open page; see pages.Lone.
type Page interface {
	About() pages.About
	Ask(ctx context.Context, c pages.Call, answer any) error
	Close() error
}

// Open opens a fresh page in a browser that nothing else uses.
type Open func(ctx context.Context, t platform.Target) (Page, error)

// Bench is what all questions are asked with.
type Bench struct {
	Open    Open
	Repeats int               // of both ways; with fewer than measure.MinRepeats there is no interval
	Say     func(line string) // hears what is under way
}

// pair asks both ways once, b before a if it is told so, and gives the
// milliseconds of each.
type pair func(ctx context.Context, bFirst bool) (a, b []float64, err error)

// compare asks a pair again and again, and says what the repeats show.
func (b *Bench) compare(ctx context.Context, row Row, ask pair) Row {
	var first, second [][]float64
	for i := range b.Repeats {
		x, y, err := ask(ctx, i%2 == 1)
		if err != nil {
			row.Refused = err.Error()
			return row
		}
		first, second = append(first, x), append(second, y)
	}
	return row.of(first, second)
}

// of fills the row with what samples show.
func (r Row) of(a, b [][]float64) Row {
	r.A.SamplesMS, r.B.SamplesMS = a, b
	c := measure.Compare(a, b)
	if c.RepeatsA == 0 || c.RepeatsB == 0 {
		r.Refused = "the page gave no times"
		return r
	}
	r.A.MedianMS, r.B.MedianMS = &c.MedianA, &c.MedianB
	r.Ratio, r.Lo, r.Hi, r.P = &c.Ratio, c.Lo, c.Hi, c.P
	r.Repeats, r.Differs = c.RepeatsA, c.Differs() && c.Lo != nil
	r.Warnings = c.Warnings
	return r
}

// inPage does something in a fresh page.
func (b *Bench) inPage(ctx context.Context, t platform.Target, do func(Page) error) error {
	p, err := b.Open(ctx, t)
	if err != nil {
		return err
	}
	return errors.Join(do(p), p.Close())
}

// Adapter is a WebGPU adapter as the page sees it.
type Adapter struct {
	Vendor       string `json:"vendor"`
	Architecture string `json:"architecture"`
	Device       string `json:"device"`
	Description  string `json:"description"`
	Fallback     bool   `json:"fallback"`
}

// Name is what people call the adapter.
func (a Adapter) Name() string {
	words := strings.Join(strings.Fields(strings.Join([]string{a.Vendor, a.Architecture, a.Device, a.Description}, " ")), " ")
	if words == "" {
		return "an adapter that the browser does not name"
	}
	return words
}

// Setting is where a tuning was done: a browser and, for WebGPU, its adapter.
type Setting struct {
	Browser  string        `json:"browser"`
	Version  string        `json:"version"`
	Adapter  *Adapter      `json:"adapter"` // null where there is none
	Evidence cell.Evidence `json:"evidence"`
}

// Setting asks a page which browser and adapter a target means.
func (b *Bench) Setting(ctx context.Context, t platform.Target) (s Setting, err error) {
	err = b.inPage(ctx, t, func(p Page) error {
		about := p.About()
		var told struct {
			Adapter *Adapter `json:"adapter"`
		}
		if err := p.Ask(ctx, pages.Call{Op: "adapter"}, &told); err != nil {
			return err
		}
		s = Setting{about.Browser, about.Version, told.Adapter, evidence(t, about, told.Adapter)}
		return nil
	})
	return s, err
}

// evidence is emulated for WebGPU on the processor: such times say nothing
// about a GPU.
func evidence(t platform.Target, about pages.About, a *Adapter) cell.Evidence {
	if t.Platform == platform.WebGPU && (about.Software || a != nil && (a.Fallback || detect.SoftwareAdapter(a.Name()))) {
		return cell.Emulated
	}
	return cell.Measured
}

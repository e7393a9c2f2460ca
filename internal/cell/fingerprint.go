package cell

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Fingerprint is what the reference of a tiny model gave, in a few numbers: by
// sample and output, the root of the mean square, then products with vectors
// that were drawn by the output's name. Two of them are about as far apart as
// the outputs are.
type Fingerprint struct {
	Reference string                          `json:"reference"`
	Samples   map[string]map[string][]float64 `json:"samples"`
}

// Changed says how a model's answers differ from those that were kept of
// another release: the same weights and inputs, other outputs.
type Changed struct {
	Since  string   `json:"since"`            // the releases that those were kept of
	By     *float64 `json:"by,omitempty"`     // of the output's length; nil where the outputs are others
	Sample string   `json:"sample,omitempty"` // what it is furthest off on
	Output string   `json:"output,omitempty"`
	// NotComparable is why nothing can be said: the two are not the same model.
	NotComparable string `json:"not_comparable,omitempty"`
}

// String is the change in words, after the model's name.
func (c Changed) String() string {
	switch {
	case c.NotComparable != "":
		return c.NotComparable
	case c.By == nil:
		return fmt.Sprintf("its outputs are not those of %s (%s)", c.Since, c.Sample)
	}
	return fmt.Sprintf("its answers changed since %s: %s by %.2g of its length (%s)", c.Since, c.Output, *c.By, c.Sample)
}

// FingerprintTolerance is how far apart two fingerprints of the same answers
// may be. Most are of float64, though parts of many models compute in float32
// all the same; the few that cannot run in float64 are of float32 with another
// attention. Kernels round otherwise from one CPU to the next.
const FingerprintTolerance = 1e-5

// Difference is how far two fingerprints are apart where they have samples in
// common: the sample and the output that are furthest, and by how much of the
// output's length, which is infinite where the outputs are others. False where
// they cannot be compared.
func (f *Fingerprint) Difference(other *Fingerprint) (sample, output string, by float64, both bool) {
	if f == nil || other == nil || f.Reference != other.Reference {
		return "", "", 0, false
	}
	for _, name := range slices.Sorted(maps.Keys(f.Samples)) { // in order: of equals the first is named each time
		mine := f.Samples[name]
		theirs, there := other.Samples[name]
		if !there {
			continue
		}
		both = true
		for _, out := range slices.Sorted(maps.Keys(mine)) {
			if d := apart(mine[out], theirs[out]); d > by || sample == "" {
				sample, output, by = name, out, d
			}
		}
		if len(mine) != len(theirs) {
			sample, output, by = name, "", math.Inf(1)
		}
	}
	return sample, output, by, both
}

// apart is the largest difference of two rows' products, of the longer length.
func apart(a, b []float64) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return math.Inf(1)
	}
	longer, most := math.Max(a[0], b[0]), 0.0
	if longer == 0 {
		return 0
	}
	for i := 1; i < len(a); i++ {
		most = math.Max(most, math.Abs(a[i]*a[0]-b[i]*b[0])/longer)
	}
	return most
}

// KeptFingerprint is one that was kept of a release.
type KeptFingerprint struct {
	Subject string `json:"subject"` // the subject's hash: what was computed
	Fingerprint
}

// Since compares what a model gave with what was kept, whose releases are named
// by since. Nil where they are the same, or there is nothing to compare.
func (k *KeptFingerprint) Since(since, subject string, now *Fingerprint) *Changed {
	if k == nil || now == nil {
		return nil
	}
	if k.Subject != subject {
		return &Changed{Since: since, NotComparable: "its weights have other names, shapes or initial values, or its configuration is another one"}
	}
	sample, output, by, both := k.Difference(now)
	switch {
	case !both:
		return &Changed{Since: since, NotComparable: "the reference was computed in another way: " + now.Reference}
	case by <= FingerprintTolerance:
		return nil
	}
	c := &Changed{Since: since, Sample: sample, Output: output}
	if !math.IsInf(by, 0) {
		c.By = &by
	}
	return c
}

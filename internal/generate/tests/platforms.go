package tests

import (
	"slices"
	"strings"

	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// place is a platform as its template sees it.
type place struct{ platform.Platform }

func (p place) inBrowser() bool { return p.Engines[0].Traits().Pages }

// torchDTypes are the dtypes in which a torch model, or an artefact, is judged
// by its largest error; the others are judged by their noise, by Assay alone.
var torchDTypes = []platform.DType{platform.FP32, platform.FP16, platform.BF16}

// Precisions are the dtypes that a test may be asked for, the default first.
func (p place) Precisions() string {
	list := []any{}
	for _, d := range p.DTypes {
		if slices.Contains(torchDTypes, d) {
			list = append(list, string(d))
		}
	}
	return pytext.Value(list, 8, 18, 1)
}

// Chain is where its tests go when it is not here.
func (p place) Chain() string {
	list := []any{}
	for _, n := range p.Fallback {
		list = append(list, string(n))
	}
	return pytext.Value(list, 8, 20, 1)
}

// inOrder puts platforms into the order in which auto prefers them for a
// family; those that auto never takes come last.
func inOrder(family string, on []platform.Name) []place {
	var ordered []place
	add := func(n platform.Name) {
		p, ok := platform.Get(n)
		had := slices.ContainsFunc(ordered, func(o place) bool { return o.Name == n })
		if ok && !had && slices.Contains(on, n) {
			ordered = append(ordered, place{p})
		}
	}
	for _, n := range platform.Preference(family) {
		add(n)
	}
	for _, n := range platform.Names() {
		add(n)
	}
	return ordered
}

func quoted(s string) string { return pytext.Quote(strings.TrimSpace(s)) }

// skip is the mark of a test that cannot be asked, broken where it is too long.
func skip(reason string) string {
	line := "@pytest.mark.skip(reason=" + quoted(reason) + ")"
	if len([]rune(line)) <= pytext.Width {
		return line
	}
	return "@pytest.mark.skip(\n    reason=" + quoted(reason) + "\n)"
}

package cell

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assay/internal/platform"
)

// Verdicts lists the verdicts of results, the best first.
func Verdicts() []Verdict { return []Verdict{Works, Partial, Fails, Unavailable, Unknown} }

// families are the families of models, in the order in which they are always
// shown, each with the one of the nine pipelines that it belongs to, if any. What
// a type's family is, introspection decides (assay_runner's families.py).
var families = []family{
	{"encoder-only", "text"},
	{"decoder-only", "text"},
	{"encoder-decoder", "text"},
	{"vision", "vision"},
	{"vision-text", "vision-text"},
	{"audio", "audio"},
	{"multimodal", "multimodal"},
	{"diffusion", "diffusion"},
	{"mixture-of-experts", "mixture-of-experts"},
	{"state-space", "state-space"},
	{"rag", "rag"},
	{"video", "vision"},
	{"time-series", ""},
	{"other", ""},
}

type family struct {
	Name     string `json:"family"`
	Pipeline string `json:"pipeline"` // "" is none of the nine
}

// Families lists the families of models in the order in which they are always shown.
func Families() []string {
	out := make([]string, len(families))
	for i, f := range families {
		out[i] = f.Name
	}
	return out
}

// LoadPhases lists, in their order, the phases before the first inference that
// are the model's own work on this machine.
func LoadPhases() []string {
	return []string{"read", "processor", "build", "convert", "compile", "device", "to_device"}
}

// Known says in a sentence which word of a result no Assay would have written,
// if any. A result that comes from elsewhere is a stranger's text: what is shown
// as a verdict, counted as evidence or drawn as a class must be one of ours. It
// asks no more than that: a cell that cannot be run is a result too.
func (r Result) Known() error {
	if !slices.Contains(Verdicts(), r.Verdict) {
		return unknown("verdict", r.Verdict, Verdicts())
	}
	if !slices.Contains(strength, r.Evidence) {
		return unknown("evidence", r.Evidence, strength)
	}
	timings := []Timing{Functional, Quick, Thorough}
	if r.Timing != "" && !slices.Contains(timings, r.Timing) {
		return unknown("timing", r.Timing, timings)
	}
	if f := r.Failure; f != nil && !slices.Contains(Classes(), f.Class) {
		return unknown("failure class", f.Class, Classes())
	}
	for _, t := range []string{r.Requested.Target, r.actualTarget()} {
		if t == "" {
			continue
		}
		if _, err := platform.ParseTarget(t); err != nil {
			return err
		}
	}
	return r.Cell.known()
}

func (r Result) actualTarget() string {
	if r.Actual == nil {
		return ""
	}
	return r.Actual.Target
}

// known does the same for the words of a cell. Where a model lies is the user's
// to name, so checkpoint and weights may be anything.
func (c Cell) known() error {
	n := c.Normal()
	if _, err := platform.ParseTarget(n.Target); err != nil {
		return err
	}
	if _, err := platform.ParseDType(string(n.DType)); err != nil {
		return err
	}
	if !slices.Contains([]string{Tiny, Full}, n.Size) {
		return fmt.Errorf("unknown size %.60q: the sizes are tiny, full", n.Size)
	}
	if !slices.Contains(Modes(), n.Mode) {
		return fmt.Errorf("unknown mode %.60q: the modes are %s", n.Mode, strings.Join(Modes(), ", "))
	}
	for _, s := range special {
		if v := *s.Of(&n.Special); v != "" && !slices.Contains(s.Values, v) {
			return fmt.Errorf("unknown %s %.60q", s.Name, v)
		}
	}
	for _, w := range []struct{ name, word string }{{"type", c.Type}, {"class", c.Class}, {"task", c.Task}, {"family", c.Family}, {"hash", c.Hash}} {
		if strings.ContainsFunc(w.word, notInWords) {
			return fmt.Errorf("%.60q is not a %s: it contains characters that are not allowed", w.word, w.name)
		}
	}
	return nil
}

// notInWords are the characters that no name of a type, class, task or family has.
func notInWords(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(`<>"'&`+"`", r) }

func unknown[T ~string](what string, got T, known []T) error {
	return fmt.Errorf("unknown %s %.60q: it must be one of %s", what, string(got), platform.Join(known))
}

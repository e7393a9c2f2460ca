package skills

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/generate/pytext"
)

// Has reports whether something natural is among what is asked.
func (s skill) Has(name string) bool { return slices.Contains(s.natural, name) }

// Naturals reports whether what is asked has a natural form.
func (s skill) Naturals() bool { return len(s.natural) > 0 }

// Arrays reports whether the file has need of numpy.
func (s skill) Arrays() bool {
	return s.Has(image) || s.Has(audio) || s.Has(video) || strings.Contains(s.Gives, "np.") || len(s.Graphs()) > 0
}

// Paths reports whether the file has need of paths.
func (s skill) Paths() bool {
	return s.Has(image) || s.Has(audio) || s.Has(video) || len(s.Graphs()) > 0 || s.Browsers() != ""
}

// Placed reports whether an answer says where things are in the picture that was
// asked about.
func (s skill) Placed() bool { return s.Piece == boxes.Piece }

// Pictured is the expression of that picture.
func (s skill) Pictured() string {
	if len(s.natural) > 1 {
		return fmt.Sprintf("x[%q]", image)
	}
	return "x"
}

// WebPictured is it in a page.
func (s skill) WebPictured() string {
	if len(s.natural) > 1 {
		return "x." + image
	}
	return "x"
}

// Length is how many tokens a graph's texts have, where the checkpoint has room
// for them; 0 where the recipe alone says it. A graph that generates runs whole
// for each token, so that it is shorter.
func (s skill) Length() int {
	switch {
	case s.Sizes["seq"] == 0 || len(s.Graphs()) == 0:
		return 0
	case s.Room > 0:
		return 256
	case slices.Equal(s.natural, []string{text}):
		return 512
	}
	return 0
}

// TinyLength is that of random weights.
func (s skill) TinyLength() int { return cmp.Or(s.Room, s.Sizes["seq"]) }

// Package is where the module of the class is that is not at the top of transformers.
func (s skill) Package() string { return s.Module[:max(0, strings.LastIndex(s.Module, "."))] }

// File is that module.
func (s skill) File() string { return s.Module[strings.LastIndex(s.Module, ".")+1:] }

// Whole are the outputs that stand for all of the input, the best first.
func (s skill) Whole() []string { return embeddings }

// Draws reports whether the model draws numbers at random.
func (s skill) Draws() bool { return slices.Contains(random, s.Type) }

// Blank is what the names of weights hold that the library leaves undrawn; ""
// where it draws all.
func (s skill) Blank() string {
	if len(blank[s.Type]) == 0 {
		return ""
	}
	return pytext.Value(blank[s.Type], 0, 0, 0)
}

// Wordless reports whether the library leaves its codebooks empty.
func (s skill) Wordless() bool { return slices.Contains(wordless, s.Type) }

// AsRead reports whether its configuration must be as one read from a file.
func (s skill) AsRead() bool { return slices.Contains(asRead, s.Type) }

// Speaks reports whether a speaker is described to it, beside its inputs.
func (s skill) Speaks() bool {
	told := func(in shaped) bool { return strings.HasPrefix(in.Name, "speaker_") }
	return s.Program == "generate" && slices.ContainsFunc(s.inputs, told)
}

// LongCall reports whether those of a call have a name of their own.
func (s skill) LongCall() bool { return len(s.Call) > 30 }

// Called are the arguments of a forward beside the inputs.
func (s skill) Called() (string, error) {
	if s.LongCall() {
		return ", **CALL", nil
	}
	v, err := pytext.Parse(s.Call)
	if err != nil {
		return "", fmt.Errorf("call of %s: %w", s.Type, err)
	}
	var b strings.Builder
	for _, p := range v.(pytext.Dict) {
		b.WriteString(", " + p.Key + "=" + pytext.Value(p.Value, 0, 0, 0))
	}
	return b.String(), nil
}

// Widened reports whether random weights are widened.
func (s skill) Widened() bool { return s.Gain != 1 && s.Gain != 0 }

// Settled is how a model generates that cannot do so without being told.
func (s skill) Settled() (json.RawMessage, error) {
	var parts struct {
		How struct{ Config json.RawMessage } `json:"generation_config"`
	}
	if len(s.Parts) == 0 {
		return nil, nil
	}
	err := json.Unmarshal(s.Parts, &parts)
	return parts.How.Config, err
}

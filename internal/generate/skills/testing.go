package skills

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/generate"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// Kind is the kind of the answer, as its test knows it.
func (s skill) Kind() string {
	if s.generates {
		return "text"
	}
	return s.Piece
}

// Stars stand before what is asked where it is tensors by name.
func (s skill) Stars() string {
	if s.Naturals() {
		return ""
	}
	return "**"
}

// Other is the expression of an input other than the example.
func (s skill) Other() string {
	if len(s.natural) == 1 {
		return filled(naturals[s.natural[0]].other, "")
	}
	d := pytext.Dict{}
	for _, n := range s.natural {
		d = append(d, pytext.Pair{Key: n, Value: pytext.Code(filled(naturals[n].other, fmt.Sprintf("[%q]", n)))})
	}
	return pytext.Value(d, 4, len("    return "), 0)
}

// filled puts a key where an expression leaves room for one.
func filled(expression, key string) string { return strings.ReplaceAll(expression, "%s", key) }

// Differ is how two answers differ; "" where those of random weights may well
// be the same: the likeliest word, the nearest class.
func (s skill) Differ() string {
	if slices.Contains(saturated, s.Type) {
		return ""
	}
	return map[string]string{
		"words": "one != two", "labels": "one != two", "similarity": "one != two", "boxes": "one != two",
		"embedding": "not np.array_equal(one, two)",
	}[s.Kind()]
}

// TestNear reports whether answers hold numbers, which may be rounded.
func (s skill) TestNear() bool { return s.Kind() != "text" && s.Kind() != "transcription" }

// Checked reports whether the numbers of a graph are compared with those that
// torch gave for it.
func (s skill) Checked() bool { return len(s.Graphs()) > 0 && !s.Draws() }

// TestTorch reports whether the test has need of torch itself.
func (s skill) TestTorch() bool { return s.Writes() || s.Checked() }

// Writes reports whether the answer is a text that is written token by token.
func (s skill) Writes() bool { return s.generates || s.Piece == "documents" }

// numbers is the piece that finds the numbers behind an answer.
func (s skill) numbers() string {
	switch {
	case s.Writes() && len(s.Graphs()) > 0:
		return "numbers text graph"
	case s.Writes():
		return "numbers text"
	case s.Piece == "picture":
		return "numbers picture"
	}
	return "numbers forward"
}

// Places are what the platforms that run in Python call their devices, and the
// dtype of each where nobody says.
func (s skill) Places() pytext.Dict {
	d := pytext.Dict{}
	for _, n := range s.on {
		p, dtype := places[n], "fp32"
		if n == platform.QNN {
			dtype = "fp16"
		}
		if p.device != "" || p.graph {
			d = append(d, pytext.Pair{Key: string(n), Value: pytext.Tuple{p.device + p.called, dtype}})
		}
	}
	return d
}

// Opens reports whether it runs graphs on a platform.
func (s skill) Opens(name string) bool { return slices.Contains(s.Graphs(), name) }

// Absent is a platform that never runs in Python: its work goes elsewhere.
func (s skill) Absent() string {
	for _, n := range []platform.Name{platform.WebGPU, platform.WebNN} {
		for _, had := range s.on {
			if had == n {
				return string(n)
			}
		}
	}
	return ""
}

// KeepFrom and KeepTo are the lines between which a file is its keeper's.
func (s skill) KeepFrom() string { return generate.KeepFrom }

// KeepTo is the other one.
func (s skill) KeepTo() string { return generate.KeepTo }

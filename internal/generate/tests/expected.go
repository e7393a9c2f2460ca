package tests

import (
	"cmp"
	"slices"
	"strings"

	"assay/internal/generate/pytext"
)

// sorted puts names into the order of imports, whatever their case.
func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.Compact(names)
}

// Outputs is the statement that says of each output its dtype, its shape for
// one sample (None is a length that depends on the sample), and the axes that
// grow with the batch.
func (m Model) Outputs() string {
	out := pytext.Dict{}
	for _, o := range m.seen.Outputs {
		shape := pytext.Tuple{}
		for _, n := range o.Shape {
			if n == nil {
				shape = append(shape, nil)
				continue
			}
			shape = append(shape, *n)
		}
		axes := pytext.Tuple{}
		for _, n := range o.Axes {
			axes = append(axes, n)
		}
		out = append(out, pytext.Pair{Key: o.Name, Value: pytext.Tuple{o.DType, shape, axes}})
	}
	return m.assigned("OUTPUTS", out)
}

// Known says whether the outputs were seen.
func (m Model) Known() bool { return m.known }

// Matters reports whether some input is known to change the outputs.
func (m Model) Matters() bool { return len(m.seen.Matters) > 0 }

// MattersText is the statement that names those.
func (m Model) MattersText() string {
	names := pytext.Tuple{}
	for _, n := range m.seen.Matters {
		names = append(names, n)
	}
	return m.assigned("MATTERS", names)
}

// OnCPU is the statement that names the outputs which the model's own code
// brings to the CPU; "" where it leaves all where they are computed.
func (m Model) OnCPU() string {
	if len(m.seen.OnCPU) == 0 {
		return ""
	}
	names := pytext.Tuple{}
	for _, n := range m.seen.OnCPU {
		names = append(names, n)
	}
	return m.assigned("ON_CPU", names)
}

// Causal says that no output looks at what comes later.
func (m Model) Causal() bool { return m.seen.Causal }

// NoBatch is why a batch cannot be compared with its samples; "" where it can.
func (m Model) NoBatch() string { return m.seen.NoBatch }

// NoTrain is why it cannot be trained; "" where it can.
func (m Model) NoTrain() string { return m.seen.NoTrain }

// NoSave is why it cannot be saved and loaded; "" where it can.
func (m Model) NoSave() string { return m.seen.NoSave }

// NoFree is why it is not let go whole; "" where it is.
func (m Model) NoFree() string { return m.seen.NoFree }

// SaveNeeds is the package without which it cannot be loaded; "" is none.
func (m Model) SaveNeeds() string { return m.seen.SaveNeeds }

// EvalTrains is whether a step of the optimiser is done in eval mode.
func (m Model) EvalTrains() bool { return m.seen.EvalTrains }

// HasWrong says whether an input is known that the model refuses.
func (m Model) HasWrong() bool { return m.seen.Wrong != nil }

// Wrong is the input that is made wrong, and how.
func (m Model) Wrong() string {
	return pytext.Quote(m.seen.Wrong.Input) + ", " + pytext.Quote(m.seen.Wrong.How)
}

// WrongWords say what is wrong with them.
func (m Model) WrongWords() string {
	if m.seen.Wrong.How == "missing" {
		return "Without " + m.seen.Wrong.Input + " there is an error, and no output."
	}
	return "With " + m.seen.Wrong.Input + " cut short there is an error, and no output."
}

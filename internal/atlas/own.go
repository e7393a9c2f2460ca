package atlas

import (
	"slices"

	"assay/internal/cell"
)

// speak is what a claim about the type says of the model: of a checkpoint it only
// predicts something.
func (m Model) speak(s Sourced) Sourced {
	if m.Checkpoint != "" && !s.exact && s.Evidence != cell.None {
		s.Basis, s.Evidence = s.Evidence, cell.Predicted
	}
	return s
}

// OwnClaims are those that own results make about the model. What says nothing about
// it is left out: another head, batch or mode, a device that is not here, a
// machine that broke, a run elsewhere in an absent device's place.
func (m Model) OwnClaims(own []Own) []Sourced {
	var out []Sourced
	for _, o := range own {
		exact, about := m.about(o.Cell)
		about = about && o.Content == "" // a user's own files may have changed since
		elsewhere := o.Fallback != nil && o.Fallback.From != ""
		absent := o.Verdict == cell.Unavailable && (o.Failure == nil || !slices.Contains([]cell.FailureClass{cell.BeyondAssay, cell.Unsuited}, o.Failure.Class))
		if !about || o.Broke() || elsewhere || absent {
			continue
		}
		s := Sourced{Claim: Of(o.Result), Source: FromOwn, exact: exact}
		s.Target = o.Cell.Normal().Target
		if o.Imported {
			s.Source = FromOther
		}
		s.Run = &Run{Host: Host{ID: o.Host}, Assay: o.Context.Versions["assay"]}
		out = append(out, m.speak(s))
	}
	return out
}

// about reports whether a cell is the model's: the plain one of its type, or of
// the checkpoint itself.
func (m Model) about(c cell.Cell) (exact, about bool) {
	if c.Type != m.Type || c.Task != "" && m.Task != "" && c.Task != m.Task {
		return false, false
	}
	like := func(x cell.Cell) bool {
		ignoring := []cell.Any{cell.AnyTarget, cell.AnyDType, cell.AnyTask, cell.AnyThreads, cell.AnyCheckpointIfTiny}
		x.DType, x.Target = c.DType, c.Target
		return c.Key(ignoring...) == x.Key(ignoring...)
	}
	if m.Checkpoint != "" {
		for _, weights := range []string{cell.Random, cell.Hub} {
			if like(cell.Cell{Type: m.Type, Checkpoint: m.Checkpoint, Size: cell.Full, Weights: weights}) {
				return true, true
			}
		}
	}
	return false, like(cell.Cell{Type: m.Type, Size: cell.Tiny})
}

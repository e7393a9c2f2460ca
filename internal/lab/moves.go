package lab

import (
	"fmt"

	"assay/internal/cell"
	"assay/internal/runner"
)

// moved adds what the ways there and back took in the repeats to what the check
// says of them.
func moved(checked *cell.Moves, runs []pointRun) *cell.Moves {
	if checked == nil {
		return nil
	}
	m := *checked
	m.Parts = parts(runs, func(p pointRun) map[string][]float64 {
		if p.Moves == nil {
			return nil
		}
		return p.Moves.PartsMS
	})
	return &m
}

// changedByMoves says in a sentence which numbers a move changed, if any.
func changedByMoves(p runner.Report) string {
	m := p.Moves
	differs := func(same *bool) bool { return same != nil && !*same }
	switch {
	case m == nil:
		return ""
	case !m.WeightsSame:
		return fmt.Sprintf("after %s to the device and back the weights have other bits", plural(m.Rounds, "move"))
	case differs(m.HomeSame):
		return "on the CPU the model gives bits other than before it was moved"
	case differs(m.ThereSame):
		return "on the device the model gives other bits each time it is moved there"
	}
	return ""
}

// keptByMoves says what stays on a device that a model has left, if anything.
func keptByMoves(p runner.Report) string {
	if p.Moves == nil {
		return ""
	}
	if left := p.Moves.Left(); left != nil && *left > p.Moves.SlackBytes {
		return fmt.Sprintf("memory stays on the device once the model is back: %d bytes, of a model of %d", *left, p.Moves.ModelBytes)
	}
	return ""
}

// unjudgedMoves says what keeps the check of moves from being whole, if anything.
func unjudgedMoves(p runner.Report) string {
	m := p.Moves
	switch {
	case m == nil:
		return ""
	case m.Left() == nil || m.Control == nil:
		return "whether it frees its memory is not known: nothing tells how much of the device is in use"
	case !m.Control.Pass:
		return fmt.Sprintf("the check is weak here: %d bytes that were kept on the device were not noticed", m.Control.KeptBytes)
	case m.HomeSame == nil || m.ThereSame == nil:
		return "whether it keeps its numbers is not known: it gives other bits each time without a move, too"
	}
	return ""
}

// untied says that a move made more tensors of the model.
func untied(m *cell.Moves) string {
	if m == nil || m.Untied <= 0 {
		return ""
	}
	return fmt.Sprintf("a move parts %s from those they were tied to, so that the model takes more there", plural(m.Untied, "tensor"))
}

package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

// foldSquare folds what a row's observations say of one platform.
func foldSquare(p platform.Name, row []Observation, now time.Time) Square {
	s := Square{Platform: p, Verdict: NotRun}
	here := newestOfEach(on(p, row))
	s.Results = len(here)
	if len(here) == 0 {
		return s
	}
	sound := slices.DeleteFunc(slices.Clone(here), machineBroke)
	if len(sound) == 0 {
		s.speak(here[0], now)
		s.Verdict, s.Evidence = Unknown, cell.None
		return s
	}
	best := topGroup(sound)
	head := headline(best)
	s.speak(head, now)
	if s.Conditions = conditions(best); s.Conditions != "" {
		s.explain(best)
	}
	s.Disagreement = disagreement(head, sound)
	s.measure(ofSize(head.Cell.Size, sound), row)
	return s
}

// speak takes over what the observation says.
func (s *Square) speak(x Observation, now time.Time) {
	s.Verdict, s.Evidence = x.Verdict, x.Evidence
	s.Target, s.Task, s.Size, s.Weights, s.DType = x.Cell.Target, x.Cell.Task, x.Cell.Size, x.Cell.Weights, x.Cell.DType
	s.Why, s.Numerics, s.Host, s.Imported, s.Versions = x.Note, x.Numerics, x.Host, x.Imported, x.Context.Versions
	if f := x.Failure; f != nil {
		s.Class, s.Why, s.Hint = f.Class, f.Detail, f.Hint
	}
	if x.StartedAt.IsZero() {
		return
	}
	started := x.StartedAt
	s.StartedAt = &started
	if !now.IsZero() {
		age := now.Sub(started).Seconds()
		s.AgeS = &age
	}
}

// explain says what stands against a verdict that holds under a condition,
// unless the verdict has a reason of its own.
func (s *Square) explain(group []Observation) {
	if s.Why != "" && s.Verdict != cell.Works {
		return
	}
	for _, x := range newestBy(group, settingsOf) {
		if x.Verdict == s.Verdict || x.Failure == nil {
			continue
		}
		if s.Why != "" {
			s.Why += "; " // a warning beside a verdict that works
		}
		if x.Cell.Task != s.Task {
			s.Why += "for " + x.Cell.Task + " "
		}
		if x.Cell.Target != s.Target {
			s.Why += "on " + x.Cell.Target + " "
		}
		s.Why += fmt.Sprintf("in %s: %s: %s", x.Cell.DType, x.Failure.Class, x.Failure.Detail)
		s.Hint = x.Failure.Hint
		return
	}
}

func on(p platform.Name, row []Observation) []Observation {
	return filter(row, func(x Observation) bool { return columnOf(x.Cell) == p })
}

func ofSize(size string, list []Observation) []Observation {
	return filter(list, func(x Observation) bool { return x.Cell.Size == size })
}

// machineBroke reports a result that says nothing about the model.
func machineBroke(x Observation) bool {
	return x.Broke()
}

// newestOfEach keeps, of the same cell timed the same way on the same host, the
// newest result: an old failure that has been fixed is not a disagreement. They
// come back in fold order, the one that speaks first.
func newestOfEach(list []Observation) []Observation {
	type key struct {
		host     string
		cell     cell.Key
		evidence cell.Evidence
		timed    bool
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, foldOrder)
	seen := map[key]bool{}
	return slices.DeleteFunc(sorted, func(x Observation) bool {
		k := key{x.Host, x.Cell.Key(), x.Evidence, timed(x)}
		dup := seen[k]
		seen[k] = true
		return dup
	})
}

// foldOrder puts the strongest evidence first, then the largest size, then what
// ran here, then the newest. What is left equal is ordered by target and dtype, so that a matrix
// does not depend on the order of its input.
func foldOrder(a, b Observation) int {
	return cmp.Or(
		cmp.Compare(b.Evidence.Strength(), a.Evidence.Strength()),
		cmp.Compare(sizeOrder(b), sizeOrder(a)),
		rank(a.Imported, b.Imported),
		b.StartedAt.Compare(a.StartedAt),
		strings.Compare(a.Cell.Target, b.Cell.Target),
		strings.Compare(string(a.Cell.DType), string(b.Cell.DType)),
		cmp.Compare(a.Cell.Batch, b.Cell.Batch),
		strings.Compare(a.Host, b.Host),
		cmp.Compare(slices.Index(goodness, a.Verdict), slices.Index(goodness, b.Verdict)),
	)
}

func sizeOrder(x Observation) int {
	if x.Cell.Size == cell.Full {
		return 1
	}
	return 0
}

// topGroup returns the observations that have the strongest evidence and, with
// it, the largest size. The list is in fold order.
func topGroup(list []Observation) []Observation {
	first := list[0]
	return filter(list, func(x Observation) bool { return x.Evidence == first.Evidence && x.Cell.Size == first.Cell.Size })
}

// settingsOf names what a condition may be about, and the settings that only
// some engines have: what fails under one of those says nothing about the plain cell.
func settingsOf(x Observation) cell.Key {
	return x.Cell.Key(cell.AnyDevice, cell.AnyCheckpoint, cell.AnyWeights, cell.AnyBatch, cell.AnyInput, cell.AnyThreads)
}

// goodness orders verdicts: a platform on which one dtype works is one on which
// the model works, under a condition.
var goodness = []cell.Verdict{cell.Unavailable, cell.Fails, cell.Partial, cell.Works}

// headline returns the observation that speaks for the group: of each engine,
// dtype and task the newest; of those the best; and of equally good ones that of
// the platform's default engine, then that in its default dtype.
func headline(group []Observation) Observation {
	heads := newestBy(group, settingsOf)
	return slices.MaxFunc(heads, func(a, b Observation) int {
		return cmp.Or(
			slices.Index(goodness, a.Verdict)-slices.Index(goodness, b.Verdict),
			engineOrder(b.Cell)-engineOrder(a.Cell),
			dtypeOrder(b.Cell)-dtypeOrder(a.Cell),
			foldOrder(b, a),
		)
	})
}

// conditions says with which engines, dtypes or tasks the best verdict holds, where it
// does not hold under all that were tried.
func conditions(group []Observation) string {
	heads := newestBy(group, settingsOf)
	var parts []string
	for _, by := range []func(Observation) string{
		func(x Observation) string { return string(x.Cell.Engine) },
		func(x Observation) string { return string(x.Cell.DType) },
		func(x Observation) string { return x.Cell.Task },
	} {
		if part := only(heads, by); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// only names the values under which the best verdict was reached, if there are
// others.
func only(heads []Observation, by func(Observation) string) string {
	best := headline(heads).Verdict
	tried, good := map[string]bool{}, map[string]bool{}
	for _, x := range heads {
		tried[by(x)] = true
		if x.Verdict == best {
			good[by(x)] = true
		}
	}
	if len(good) == len(tried) {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(good)), " and ") + " only"
}

// disagreement names what contradicts the headline: results of the same
// settings with another verdict, and weaker evidence that was wrong. That a
// platform is missing on some other machine contradicts nothing.
func disagreement(head Observation, list []Observation) []string {
	var out []string
	for _, x := range list {
		same := x.Evidence != head.Evidence || settingsOf(x) == settingsOf(head)
		if !same || x.Cell.Size != head.Cell.Size || x.Verdict == head.Verdict || x.Verdict == cell.Unavailable || head.Verdict == cell.Unavailable {
			continue
		}
		out = append(out, describe(x))
	}
	return slices.Compact(out)
}

func describe(x Observation) string {
	text := fmt.Sprintf("%s (%s, %s, %s)", x.Shown().Word(), x.Evidence, x.Cell.Target, x.Cell.DType)
	if x.Host != "" {
		text += " on host " + x.Host
	}
	if x.Failure != nil {
		text += ": " + string(x.Failure.Class)
	}
	return text
}

// newestBy keeps the first of each value; the list is in fold order.
func newestBy[K comparable](list []Observation, by func(Observation) K) []Observation {
	seen := map[K]bool{}
	return filter(list, func(x Observation) bool {
		v := by(x)
		first := !seen[v]
		seen[v] = true
		return first
	})
}

func filter(list []Observation, keep func(Observation) bool) []Observation {
	var out []Observation
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// Shown is the square's verdict as people are shown it.
func (s Square) Shown() cell.Verdict { return cell.Shown(s.Verdict, s.Evidence) }

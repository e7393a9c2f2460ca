package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
)

type groupView struct {
	Title, Count string
	Rows         []rowView
}

type rowView struct {
	Name, Sub, Find, Verdicts string
	Squares                   []squareView
}

// squareView is a square of the page: what stands in it, and in the panel that
// opens from it.
type squareView struct {
	Class, Evidence, Mark, Word, Grade, Sub, Tip string
	Size                                         string // beside the mark, where the line under it has no room
	Blank                                        bool   // nothing but the mark to show
	Numbers                                      []numberView
	Model, Where, Headline, Why, Hint            string
	Facts                                        []factView
	Disagreement                                 []string
}

type numberView struct {
	Name Metric
	Text string
	Raw  string // for sorting
}

type factView struct{ Name, Value string }

func squareOf(r matrix.Row, s matrix.Square) squareView {
	l := lookOf(s.Shown())
	where := matrix.Title(s.Platform)
	model := matrix.Name(r.Model)
	v := squareView{Class: string(s.Shown()), Mark: l.mark, Word: l.word(), Model: model, Where: where, Headline: l.word(),
		Tip: fmt.Sprintf("%s on %s: %s", model, where, l.word())}
	if p := s.Atlas; p != nil {
		l := lookOf(p.Shown())
		v.Class, v.Mark, v.Blank = string(p.Shown()), l.mark, true
		v.Word = published + ": " + l.word()
		v.Tip = fmt.Sprintf("%s on %s: nobody ran it here; the atlas says %s, %s, in %s, %s", model, where, l.word(), p.Evidence, p.DType, p.At.Format("2006-01-02"))
		return v
	}
	if s.Verdict == matrix.NotRun {
		v.Blank = true
		return v
	}
	v.Why, v.Hint, v.Disagreement = s.Why, s.Hint, s.Disagreement
	v.Facts = factsOf(s)
	if s.Why != "" {
		v.Tip += " (" + oneLine(s.Why) + ")"
	}
	if !isSet(s) {
		return v
	}
	v.Evidence, v.Grade = string(s.Evidence), gradeOf(s.Evidence).short
	if s.Imported {
		v.Grade = strings.TrimSpace(v.Grade + " " + imported)
	}
	v.Headline = headline(s)
	v.Tip = fmt.Sprintf("%s on %s: %s", model, where, v.Headline)
	v.Size, v.Sub = caption(s)
	v.Numbers = numbersOf(s)
	return v
}

// headline is the verdict in words: "works: fp32 only, measured".
func headline(s matrix.Square) string {
	text := s.Shown().Word()
	if s.Conditions != "" {
		text += ": " + s.Conditions
	}
	text += ", " + string(s.Evidence)
	if s.Imported {
		text += ", imported"
	}
	return text
}

// caption is the small line in a square: the condition or the failure's class
// where there is one (the size then stands beside the mark), else size, weights
// and dtype.
func caption(s matrix.Square) (beside, under string) {
	parts := []string{s.Size}
	if s.Weights != cell.Random {
		parts = append(parts, weightsWord(s.Weights))
	}
	settings := strings.Join(parts, " · ")
	switch {
	case s.Conditions != "":
		return settings, s.Conditions
	case s.Class != "":
		return settings, string(s.Class)
	}
	return "", settings + " · " + string(s.DType)
}

func numbersOf(s matrix.Square) []numberView {
	var out []numberView
	for _, m := range Metrics() {
		if text := value(s, m); text != "" {
			out = append(out, numberView{m, strings.TrimSpace(text + " " + importedNumber(s, m)), raw(s, m)})
		}
	}
	return out
}

func raw(s matrix.Square, m Metric) string {
	switch m {
	case ByLatency:
		return fmt.Sprintf("%g", s.Latency.MedianMS)
	case ByLoad:
		return fmt.Sprintf("%g", s.Load.Seconds)
	case ByMemory:
		return fmt.Sprint(s.Peak.Bytes)
	case BySpeedup:
		return fmt.Sprintf("%g", s.Speedup.Ratio)
	}
	return ""
}

// factsOf lists what is known about the square, in the order in which a reader
// asks: how was it run, is it right, how fast, how much, when, with what.
func factsOf(s matrix.Square) []factView {
	var out []factView
	add := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			out = append(out, factView{name, value})
		}
	}
	add("Failure", string(s.Class))
	add("Target", s.Target)
	if isSet(s) {
		add("Size", strings.Join([]string{s.Size, weightsWord(s.Weights) + " weights", string(s.DType)}, ", "))
		add("Task", s.Task)
		add("Evidence", fmt.Sprintf("%s: %s", s.Evidence, gradeOf(s.Evidence).meaning))
	}
	if n := s.Numerics; n != nil && n.MaxRel != nil {
		add("How checked", n.Note)
		add("Error", errorFact(n))
		add("Quantising", quantisedFact(n.Quantised))
		add("Control", controlWord(n))
	}
	numberFacts(s, add)
	if s.AgeS != nil {
		add("Age", fmt.Sprintf("%s (%s)", Age(*s.AgeS), s.StartedAt.UTC().Format("2006-01-02 15:04")))
	}
	add("Host", s.Host)
	if s.Imported {
		add("Imported", "it did not run here")
	}
	var versions []string
	for _, k := range slices.Sorted(maps.Keys(s.Versions)) {
		versions = append(versions, k+" "+s.Versions[k])
	}
	add("Versions", strings.Join(versions, ", "))
	if s.Results > 1 {
		add("Folded", fmt.Sprintf("%d results", s.Results))
	}
	return out
}

func numberFacts(s matrix.Square, add func(name, value string)) {
	if l := s.Latency; l != nil {
		add("Latency", fmt.Sprintf("%s %s, %s b%d, %s", Milliseconds(l.MedianMS), interval(l.MedianMS, l.LoMS, l.HiMS), l.DType, l.Batch, plural(l.Repeats, "repeat")))
		if !l.Stable {
			add("Unstable", l.Why)
		}
		add("Times are", l.Sync)
	}
	if u := s.Speedup; u != nil {
		add("Over CPU", fmt.Sprintf("%s %s, %s b%d", marked(Times(u.Ratio), u.Stable), ratioSpan(*u), u.DType, u.Batch))
	}
	if l := s.Load; l != nil {
		add("Load", Milliseconds(l.Seconds*1e3))
	}
	if p := s.Peak; p != nil {
		add("Peak memory", Bytes(p.Bytes)+" on the "+p.Where)
	}
}

// errorFact says how far the outputs are off, and how far they may be.
func errorFact(n *cell.Numerics) string {
	if n.LeastSNRdB != nil && n.SNRdB != nil {
		return fmt.Sprintf("a signal-to-noise ratio of %.1f dB, at least %.0f, against %s", *n.SNRdB, *n.LeastSNRdB, n.Reference)
	}
	return fmt.Sprintf("%s of the largest value, limit %s, against %s", power(*n.MaxRel, 1), power(n.Tolerance, 0), n.Reference)
}

// quantisedFact tells what quantising lost and what the engine is off by.
func quantisedFact(q *cell.Quantised) string {
	switch {
	case q == nil:
		return ""
	case q.Pass == nil:
		return q.Note
	}
	line := "against " + q.By + " on the same quantised model"
	switch {
	case q.LeastSNRdB != nil && q.SNRdB != nil:
		line = fmt.Sprintf("the engine has %.1f dB, at least %.0f, %s", *q.SNRdB, *q.LeastSNRdB, line)
	case q.MaxRel != nil:
		line = fmt.Sprintf("the engine is off by %s, limit %s, %s", power(*q.MaxRel, 1), power(q.Tolerance, 0), line)
	}
	if q.LossSNRdB != nil {
		line = fmt.Sprintf("it leaves a signal-to-noise ratio of %.1f dB; ", *q.LossSNRdB) + line
	}
	return line
}

// controlWord says what damage changed, where, and how wrong an output could be
// and still pass.
func controlWord(n *cell.Numerics) string {
	c := n.Control
	if c == nil || c.Change == nil {
		return ""
	}
	where, kind := "in the reference", c.Kind
	if c.Where == cell.OnEngine {
		where = "on the engine"
	}
	if c.Of != "" {
		kind += " of " + c.Of
	}
	line := fmt.Sprintf("%s: %s changed the output by %s; it would pass up to %s", where, kind, power(*c.Change, 1), power(n.Tolerance, 0))
	if n.LeastSNRdB != nil {
		line = fmt.Sprintf("%s: %s changed the output by %s; it would pass with %.0f dB", where, kind, power(*c.Change, 1), *n.LeastSNRdB)
	}
	if len(c.Unmoved) > 0 {
		line += "; no damage moves " + strings.Join(c.Unmoved, ", ")
	}
	return line
}

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/matrix"
	"assay/internal/progress"
)

// Results prints the results of one run. Result is called once for each as they
// come, from one goroutine at a time; Done once, at the end, and returns the
// first error of all that was written.
type Results interface {
	Result(r cell.Result)
	Done(s Summary) error
}

// Listen returns a listener that has results printed as they come. What cannot
// be written is said by Done, and does not stop the run.
func Listen(p Results) progress.Listener {
	return progress.Func(func(e progress.Event) error {
		if e.Kind == progress.KindFinished {
			p.Result(*e.Result)
		}
		return nil
	})
}

// Summary is what is known at the end of a run.
type Summary struct {
	Run     cell.Run
	Host    cell.Host
	Elapsed time.Duration // 0 is unknown
	Stopped bool          // by the user, before the plan's end
}

// TextResults prints a line a cell; failures say why, indented under it.
func TextResults(w io.Writer) Results {
	return &textResults{w: plain(w), counts: map[cell.Verdict]int{}}
}

// JSONResults prints one object when the run is done.
func JSONResults(w io.Writer) Results { return &jsonResults{w: w} }

// JSONLines prints an object a line as results come.
func JSONLines(w io.Writer) Results {
	return &jsonLines{w: w}
}

// Both prints to several printers at once: the terminal and a JUnit file.
func Both(printers ...Results) Results { return several(printers) }

type several []Results

func (s several) Result(r cell.Result) {
	for _, p := range s {
		p.Result(r)
	}
}

func (s several) Done(sum Summary) error {
	var first error
	for _, p := range s {
		if err := p.Done(sum); err != nil && first == nil {
			first = err
		}
	}
	return first
}

type jsonResults struct {
	w       io.Writer
	results []cell.Result
}

func (p *jsonResults) Result(r cell.Result) { p.results = append(p.results, r) }

func (p *jsonResults) Done(s Summary) error {
	if p.results == nil {
		p.results = []cell.Result{}
	}
	return writeJSON(p.w, cell.Report{Schema: cell.Schema, Run: s.Run, Host: s.Host, Results: p.results})
}

type jsonLines struct {
	w   io.Writer
	err error
}

func (p *jsonLines) Result(r cell.Result) {
	if p.err == nil {
		p.err = clean.WriteJSON(p.w, struct {
			Schema int `json:"schema"`
			cell.Result
		}{cell.Schema, r}, "")
	}
}

func (p *jsonLines) Done(Summary) error { return p.err }

type textResults struct {
	w      io.Writer
	counts map[cell.Verdict]int
	laws   cell.LawTally
	err    error
}

func (p *textResults) Result(r cell.Result) {
	p.counts[r.Shown()]++
	p.laws.Add(r)
	p.print(resultLines(printable(r)))
}

func (p *textResults) Done(s Summary) error {
	var parts []string
	total := 0
	for _, l := range looks {
		if n := p.counts[l.verdict]; n > 0 {
			total += n
			parts = append(parts, ink(l.verdict, fmt.Sprintf("%s %d %s", l.mark, n, l.word())))
		}
	}
	line := "\n" + plural(total, "result")
	if s.Elapsed > 0 {
		line += " in " + s.Elapsed.Round(time.Millisecond).String()
	}
	if len(parts) > 0 {
		line += ":  " + strings.Join(parts, "  ")
	}
	if s.Stopped {
		line += "  (stopped before the end; what was finished is kept)"
	}
	p.print(line + "\n")
	if p.laws.Models > 0 {
		p.print(p.laws.String() + "\n")
	}
	return p.err
}

func (p *textResults) print(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// resultLines is a result as one line, with its reasons under it.
func resultLines(r cell.Result) string {
	if r.Verdict == cell.Unavailable {
		return unavailableLine(r)
	}
	l := lookOf(r.Shown())
	c := r.Cell
	line := strings.Join([]string{
		ink(r.Shown(), l.mark),
		pad(bold.Render(called(c)), 24),
		pad(c.Target, 10),
		pad(setting(c), 20),
		ink(r.Shown(), pad(l.word(), 7)),
		pad(evidenceWord(r), 8),
	}, " ")
	line += " " + strings.Join(append(facts(r), insteadOf(r)...), "  ")
	lines := []string{strings.TrimRight(line, " ")}
	for _, s := range remarks(r) {
		lines = append(lines, "    "+s)
	}
	return strings.Join(lines, "\n") + "\n"
}

// unavailableLine says in one line what is not there, why, and what ran in its
// place.
func unavailableLine(r cell.Result) string {
	l := lookOf(r.Verdict)
	line := strings.Join([]string{ink(r.Verdict, l.mark), pad(bold.Render(called(r.Cell)), 24), pad(r.Cell.Target, 10), ink(r.Verdict, l.word())}, " ")
	if r.Note != "" {
		line += ": " + oneLine(r.Note)
	}
	if f := r.Fallback; f != nil && f.To != "" {
		line += " → falls back to " + f.To + costWord(f.Cost)
	}
	return line + "\n"
}

// insteadOf names the target that a fallback's own result stands in for; why
// stands in the line of that target.
func insteadOf(r cell.Result) []string {
	if f := r.Fallback; f != nil && f.From != "" {
		return []string{"instead of " + f.From + costWord(f.Cost)}
	}
	return nil
}

func costWord(c *cell.Cost) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" (%s as long, %s)", Times(c.Ratio), c.Evidence)
}

func evidenceWord(r cell.Result) string {
	if r.Evidence == cell.None {
		return ""
	}
	return string(r.Evidence)
}

// facts are the numbers of a result, those that are known.
func facts(r cell.Result) []string {
	var out []string
	out = append(out, errorWords(r.Numerics)...)
	if e := r.Experts; e != nil {
		out = append(out, fmt.Sprintf("experts %.0f %%", 100*e.UsedShare))
	}
	if soc := r.Context.EngineSettings["soc"]; soc != "" && r.Cell.Device == "" {
		out = append(out, "for "+soc) // which chip the default is, a target that names none does not say
	}
	if k := kernelWord(r.Kernels); k != "" {
		out = append(out, k)
	}
	if r.Moves != nil {
		out = append(out, moveWords(*r.Moves)...)
	}
	if matrix.Timed(r) {
		out = append(out, strings.TrimSpace(Milliseconds(r.Latency.MedianMS)+" "+interval(r.Latency.MedianMS, r.Latency.LoMS, r.Latency.HiMS)))
		if i := r.Interference; i != nil {
			out = append(out, companyWords(*i))
		}
		if k := r.Ranks; k != nil && k.Efficiency != nil {
			out = append(out, fmt.Sprintf("efficiency %.2f over %d", *k.Efficiency, k.Procs))
		}
		switch {
		case r.Training != nil:
			out = append(out, stepWords(*r.Training)...)
			out = append(out, rate(*r.Throughput))
		case r.Pipeline != nil:
			out = append(out, requestWords(*r.Pipeline)...)
			out = append(out, rate(*r.Throughput))
		case r.Generation != nil:
			out = append(out, tokenWords(*r.Generation)...)
		case r.Throughput != nil:
			out = append(out, rate(*r.Throughput))
		}
	}
	if b, where, ok := matrix.PeakBytes(r); ok {
		out = append(out, fmt.Sprintf("peak %s %s", Bytes(b), where))
	}
	if ms, ok := matrix.LoadMS(r); ok && matrix.Timed(r) {
		out = append(out, "load "+Milliseconds(ms))
	}
	return out
}

// errorWords are how far the outputs are off: of a quantised model the noise
// against torch, and apart from it the engine's own error.
func errorWords(n *cell.Numerics) []string {
	switch {
	case n == nil:
		return nil
	case n.LeastSNRdB == nil && n.MaxRel == nil:
		return nil
	case n.LeastSNRdB == nil:
		return []string{"error " + power(*n.MaxRel, 1)}
	case n.SNRdB == nil:
		return nil
	}
	out := []string{fmt.Sprintf("%.1f dB", *n.SNRdB)}
	if q := n.Quantised; q != nil && q.MaxRel != nil {
		out = append(out, "engine's error "+power(*q.MaxRel, 1))
	} else if q != nil && q.SNRdB != nil {
		out = append(out, fmt.Sprintf("engine's own noise %.1f dB", *q.SNRdB))
	}
	return out
}

// kernelWord names the packages whose kernels ran, or says that none did.
func kernelWord(kernels map[string]string) string {
	var fast []string
	for _, what := range kernels {
		if name, ok := strings.CutPrefix(what, "fast:"); ok {
			fast = append(fast, name)
		}
	}
	switch {
	case len(kernels) == 0:
		return ""
	case len(fast) == 0:
		return "reference kernels"
	}
	slices.Sort(fast)
	return "kernels of " + oneLine(strings.Join(slices.Compact(fast), ", "))
}

// remarks are the lines under a result: why it is not plainly well.
func remarks(r cell.Result) []string {
	var out []string
	if f := r.Failure; f != nil {
		out = append(out, fmt.Sprintf("%s: %s", f.Class, oneLine(f.Detail)))
		if f.Hint != "" {
			out = append(out, faint.Render("→ "+oneLine(f.Hint)))
		}
	}
	if r.Note != "" {
		out = append(out, oneLine(r.Note))
	}
	if n := r.Numerics; n != nil && n.Note != "" {
		out = append(out, faint.Render("checked against "+n.Reference+": "+oneLine(n.Note)))
	}
	if r.Experts != nil && r.Experts.Idle() {
		out = append(out, "a layer used fewer than two of its experts: the check says little about the choice between them")
	}
	if fb := r.Fallback; fb != nil && fb.To != "" {
		out = append(out, fallbackLine(*fb, r.Failure))
	}
	if a := r.Actual; a != nil && adapted(r) {
		out = append(out, fmt.Sprintf("adapted: ran in %s with batch %d", a.DType, a.Batch))
	}
	if matrix.Timed(r) && !r.Latency.Stable {
		out = append(out, faint.Render("unstable: "+r.Latency.Why))
	}
	if matrix.Timed(r) && r.Latency.Sync != "" {
		out = append(out, r.Latency.Sync)
	}
	return slices.Compact(out)
}

func adapted(r cell.Result) bool {
	return r.Actual.DType != r.Requested.DType || r.Actual.Batch != r.Requested.Batch || r.Actual.Seq != r.Requested.Seq && r.Requested.Seq > 0
}

// fallbackLine tells where a cell went and, unless its failure has just been
// told, why.
func fallbackLine(f cell.Fallback, told *cell.Failure) string {
	line := "falls back to " + f.To
	if f.Reason != "" && told == nil {
		line += ": " + oneLine(f.Reason)
	}
	return line + costWord(f.Cost)
}

// oneLine keeps a text that came out of a log from breaking the table or
// steering the terminal.
func oneLine(s string) string {
	return strings.Join(strings.Fields(clean.Line(s)), " ")
}

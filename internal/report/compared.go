package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"assay/internal/compare"
	"assay/internal/measure"
	"assay/internal/platform"
)

// Benchstat is the format of Go's benchmarks, with both sides in one file:
// benchstat -col side FILE.
const Benchstat Format = "benchstat"

// comparedWriters has one printer for each format of a comparison.
var comparedWriters = []struct {
	format Format
	write  func(io.Writer, compare.Report) error
}{
	{Text, comparedText},
	{JSON, func(w io.Writer, r compare.Report) error { return writeJSON(w, WithWords(r)) }},
	{Markdown, comparedMarkdown},
	{HTML, comparedHTML},
	{Benchstat, comparedBenchstat},
}

// ComparedFormats lists the formats of a comparison.
func ComparedFormats() []Format {
	var out []Format
	for _, w := range comparedWriters {
		out = append(out, w.format)
	}
	return out
}

// WriteCompared prints a comparison.
func WriteCompared(w io.Writer, f Format, r compare.Report) error {
	i := slices.Index(ComparedFormats(), f)
	if i < 0 {
		return fmt.Errorf("unknown format %q: the formats are %s", f, platform.Join(ComparedFormats()))
	}
	if f != JSON {
		r = printable(r)
	}
	if err := comparedWriters[i].write(w, r); err != nil {
		return fmt.Errorf("write the comparison as %s: %w", f, err)
	}
	return nil
}

func comparedText(out io.Writer, r compare.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", bold.Render(comparedTitle(r)), faint.Render(fmt.Sprintf("%s compared", plural(r.Compared, "cell"))))
	for _, s := range []struct {
		letter string
		side   compare.Summary
	}{{"A", r.A}, {"B", r.B}} {
		fmt.Fprintf(&b, "  %s  %s\n", s.letter, faint.Render(sideText(s.side)))
	}
	for _, s := range comparedSections(r) {
		if len(s.grid.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s", bold.Render(s.title))
		if s.note != "" {
			b.WriteString("  " + faint.Render(s.note))
		}
		b.WriteString("\n")
		if err := s.grid.text(&b, "  "); err != nil {
			return err
		}
	}
	for _, n := range r.Notes {
		b.WriteString("\n" + n + "\n")
	}
	b.WriteString("\n")
	for _, line := range footerLines(r) {
		b.WriteString(faint.Render(line) + "\n")
	}
	fmt.Fprintf(&b, "\n%s\n", Verdict(r))
	_, err := io.WriteString(plain(out), b.String())
	return err
}

func comparedTitle(r compare.Report) string { return r.A.Name + " → " + r.B.Name }

func sideText(s compare.Summary) string {
	parts := []string{s.Kind + " " + s.Name, plural(s.Cells, "cell")}
	if len(s.Runs) > 1 {
		parts = append(parts, plural(len(s.Runs), "run"))
	}
	if !s.To.IsZero() {
		parts = append(parts, s.To.UTC().Format("2006-01-02 15:04 UTC"))
	}
	for _, h := range s.Hosts {
		parts = append(parts, compare.MachineName(h))
	}
	return strings.Join(parts, " · ")
}

// Compared is a comparison with what is said about it in words.
type Compared struct {
	compare.Report
	Verdict string   `json:"verdict"` // what it comes to
	Trust   []string `json:"trust"`   // how far to trust it: machine, repeats, chance, and how often the method is wrong
}

// WithWords adds the words.
func WithWords(r compare.Report) Compared { return Compared{r, Verdict(r), footerLines(r)} }

// Verdict is what a comparison comes to, in a line.
func Verdict(r compare.Report) string {
	counts := map[string]int{}
	for _, t := range r.Turns {
		counts[string(t.Kind)]++
	}
	for _, s := range r.Speed {
		counts[string(s.Verdict)]++
	}
	var parts []string
	for _, k := range []string{"broken", "lost", "partly", "weaker evidence", "moved", "less accurate", "slower", "faster", "candidate", "refuted", "unclear", "fails otherwise", "fixed", "wholly", "stronger evidence", "returned", "more accurate"} {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	told := strings.Join(parts, ", ")
	switch {
	case r.Outcome == compare.Nothing:
		return "nothing could be compared" + whyNothing(r)
	case told == "":
		return string(r.Outcome)
	}
	return string(r.Outcome) + ": " + told
}

func whyNothing(r compare.Report) string {
	switch {
	case len(r.Refused) > 0:
		f := r.Refused[0]
		return fmt.Sprintf(": %s refused, the first because its %s differs (%s, %s); --across %s compares them all the same",
			plural(len(r.Refused), "cell"), f.Field, f.A, f.B, strings.ReplaceAll(f.Field, " ", "-"))
	case r.A.Cells == 0 || r.B.Cells == 0:
		empty := r.A
		if r.A.Cells > 0 {
			empty = r.B
		}
		return ": there are no results " + empty.Name
	case len(r.OnlyA) < r.A.Cells && len(r.Notes) > 0: // what became of those in common
		return ": " + r.Notes[0]
	case len(r.OnlyA) > 0 || len(r.OnlyB) > 0:
		return fmt.Sprintf(": the sides have no cell in common (%d and %d)", len(r.OnlyA), len(r.OnlyB))
	}
	return ": neither side ran anything"
}

// footerLines say how far the comparison can be trusted.
func footerLines(r compare.Report) []string {
	f := r.Footer
	out := []string{"machine: " + f.Machine}
	if len(r.Speed) > 0 {
		line := fmt.Sprintf("repeats: %s against %s, each a fresh process", span(f.RepeatsA), span(f.RepeatsB))
		if f.LeastP != nil {
			line += fmt.Sprintf("; the least p that they can give is %s", pText(*f.LeastP))
		}
		out = append(out, line)
		how := fmt.Sprintf("slower or faster: by at least %.1f %% and two standard errors, p corrected for %s at %.0f %%",
			100*measure.LeastChange, plural(len(r.Speed), "cell"), 100*measure.FalseDiscovery)
		if f.Confirmed {
			how = fmt.Sprintf("slower or faster: seen by a screen and again in fresh repeats, p corrected for the number of candidates at %.0f %%", 100*measure.FalseDiscovery)
		}
		out = append(out, how)
		if f.Stored {
			out = append(out, "the sides ran at different times: what the machine did meanwhile is inside these numbers")
		}
	}
	if len(r.Speed) > 0 && !f.Confirmed {
		out = append(out, fmt.Sprintf("nothing was run again: where no speed changed, chance alone gives up to %.0f %% of comparisons a verdict on some cell; assay bench --baseline and --ab run candidates again", 100*measure.FalseDiscovery))
	}
	if f.Stored && slices.ContainsFunc(r.Speed, func(s compare.Speed) bool { return s.First != nil }) {
		out = append(out, "the fresh repeats were compared with the stored ones that chose the candidates, so that chance counts twice: expect more false verdicts than of repeats that are all fresh (docs/comparing.md)")
	}
	return append(out, "false verdicts of this method with fresh repeats on both sides: "+RatesText(f.Rates))
}

// RatesText is how often the method was seen to be wrong.
func RatesText(r compare.Rates) string {
	if r.Comparisons == 0 {
		return "not measured on a real machine yet; on simulated repeats see docs/comparing.md"
	}
	n := r.Slower + r.Faster
	text := fmt.Sprintf("%d of %d comparisons of a cell with itself after confirmation (%.2f to %.2f in 1,000; %d slower, %d faster), on %s",
		n, r.Comparisons, 1000*r.Lo, 1000*r.Hi, r.Slower, r.Faster, r.Machine)
	if r.Comparisons < r.Wanted {
		text += fmt.Sprintf("; incomplete, %d of %d", r.Comparisons, r.Wanted)
	}
	for _, x := range r.Found {
		if x.Steady && x.Tries > 0 {
			text += fmt.Sprintf("; %+.0f %% (%s) found in %d of %d", 100*x.Change, x.Planted, x.Found, x.Tries)
			if n := r.Tries(x.Planted, x.Change); n < r.WantedTries {
				text += fmt.Sprintf(" (incomplete, %d of %d tries)", n, r.WantedTries)
			}
		}
	}
	return text
}

func span(n [2]int) string {
	if n[0] == n[1] {
		return fmt.Sprint(n[0])
	}
	return fmt.Sprintf("%d to %d", n[0], n[1])
}

func pText(p float64) string {
	if p < 0.001 {
		return power(p, 1)
	}
	return fmt.Sprintf("%.3f", p)
}

func comparedMarkdown(w io.Writer, r compare.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s**\n\n- A: %s\n- B: %s\n", escapeMarkdown(comparedTitle(r)), escapeMarkdown(Verdict(r)), escapeMarkdown(sideText(r.A)), escapeMarkdown(sideText(r.B)))
	for _, s := range comparedSections(r) {
		if len(s.grid.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if s.note != "" {
			b.WriteString(escapeMarkdown(capital(s.note)) + "\n\n")
		}
		if err := s.grid.markdown(&b); err != nil {
			return err
		}
	}
	for _, n := range append(slices.Clone(r.Notes), footerLines(r)...) {
		fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(capital(n)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// comparedPage is a comparison as its template wants it.
type comparedPage struct {
	Title, Verdict, Outcome, Date string
	CSS                           template.CSS
	Sides, Footer                 []string
	Tables                        []tableView
}

func comparedHTML(w io.Writer, r compare.Report) error {
	t, err := template.ParseFS(pageFiles, "page/compare.html")
	if err != nil {
		return err
	}
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return err
	}
	p := comparedPage{
		Title: comparedTitle(r), Verdict: Verdict(r), Outcome: string(r.Outcome), CSS: template.CSS(css),
		Sides: []string{"A: " + sideText(r.A), "B: " + sideText(r.B)}, Footer: append(slices.Clone(r.Notes), footerLines(r)...),
	}
	if !r.GeneratedAt.IsZero() {
		p.Date = r.GeneratedAt.UTC().Format(time.RFC1123)
	}
	for _, s := range comparedSections(r) {
		if len(s.grid.rows) > 0 {
			t := tableOf(s)
			t.ID = strings.ReplaceAll(t.ID, " ", "-")
			p.Tables = append(p.Tables, t)
		}
	}
	return t.Execute(w, p)
}

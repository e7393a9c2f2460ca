package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// The page is one file: style sheet and script are put into it, and nothing is
// ever loaded from elsewhere.
//
//go:embed page
var pageFiles embed.FS

// page is the document as the template wants it: every string ready to show.
type page struct {
	Title, Subtitle, Assay, Date string
	CSS                          template.CSS
	JS                           template.JS
	Metric                       Metric
	Metrics                      []metricView
	Chips                        []chipView
	Grades                       []gradeView
	Nav                          []navView
	Columns                      []columnView
	Span                         int
	Groups                       []groupView
	Problems                     []problemView
	NoProblems                   string
	Bars                         []barView
	One                          string // where the chart's 1× lies, in per cent
	Tables                       []tableView
	Plots                        []plotView
}

type navView struct{ ID, Title string }

type metricView struct {
	Name          Metric
	Short, Title  string
	Chosen, Known bool
}

type chipView struct {
	Class               string
	Mark, Word, Meaning string
	Count               int
}

type gradeView struct{ Name, Short, Meaning string }

type columnView struct {
	Index               int
	Name, Vendor, Title string
}

type problemView struct {
	Model, Target, Class, Mark, Word, Evidence, Kind, Why, Hint string
}

type tableView struct {
	ID, Title, Note, Empty string
	Head                   []cellView
	Rows                   [][]cellView
}

type cellView struct {
	Text   string
	Number bool
}

// writeHTML prints the document as one self-contained page.
func writeHTML(w io.Writer, d Document) error {
	t, err := template.ParseFS(pageFiles, "page/page.html")
	if err != nil {
		return err
	}
	p := newPage(d)
	for name, put := range map[string]func(string){
		"page/page.css": func(s string) { p.CSS = template.CSS(s) },
		"page/page.js":  func(s string) { p.JS = template.JS(s) },
	} {
		b, err := pageFiles.ReadFile(name)
		if err != nil {
			return err
		}
		put(string(b))
	}
	return t.Execute(w, p)
}

func newPage(d Document) page {
	p := page{Title: d.Title, Subtitle: subtitle(d), Assay: d.Assay, Metric: d.Metric, Span: len(d.Matrix.Platforms) + 1,
		Nav: []navView{{"matrix", "Matrix"}, {"problems", "Problems"}, {"fastest", "Fastest"}, {"performance", "Performance"}, {"memory", "Memory"}, {"hardware", "Hardware"}}}
	if !d.GeneratedAt.IsZero() {
		p.Date = d.GeneratedAt.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.Metrics = metricViews(d)
	for _, l := range looks {
		p.Chips = append(p.Chips, chipView{string(l.verdict), l.mark, l.word(), l.meaning, d.Counts[l.verdict]})
	}
	for _, g := range grades {
		p.Grades = append(p.Grades, gradeView{string(g.evidence), g.short, g.meaning})
	}
	if anyImported(d.Matrix) {
		p.Grades = append(p.Grades, gradeView{"imported", imported, "it did not run here"})
	}
	if anyPublished(d.Matrix) {
		p.Grades = append(p.Grades, gradeView{"atlas", published, "nobody ran it here; it is what was published with Assay"})
	}
	for i, n := range d.Matrix.Platforms {
		p.Columns = append(p.Columns, column(i, n))
	}
	p.Groups = groups(d.Matrix)
	p.Problems, p.NoProblems = problemViews(d.Problems), noProblems(d)
	p.Bars, p.One = bars(d.Fastest)
	if d.byFamily {
		p.Tables = append(p.Tables, tableOf(section{title: "Families", note: "How many of a family's models have which verdict.", grid: matrixGrid(d)}))
		p.Nav = slices.Insert(p.Nav, 3, navView{"families", "Families"})
	}
	if p.Plots = plots(d.Trends); len(p.Plots) > 0 {
		p.Nav = append(p.Nav, navView{"trends", "Trends"})
	}
	for _, s := range sections(d)[1:] { // the first is drawn as bars
		p.Tables = append(p.Tables, tableOf(s))
	}
	return p
}

func metricViews(d Document) []metricView {
	short := map[Metric]string{ByVerdict: "Verdict", ByLatency: "Latency", ByLoad: "Load", ByMemory: "Memory", BySpeedup: "Speed-up"}
	var out []metricView
	for _, m := range Metrics() {
		known := m == ByVerdict || slices.ContainsFunc(d.Matrix.Rows, func(r matrix.Row) bool {
			return slices.ContainsFunc(r.Squares, func(s matrix.Square) bool { return value(s, m) != "" })
		})
		title := capital(metricTitle(m))
		if !known {
			title += ": " + notMeasured
		}
		out = append(out, metricView{m, short[m], title, m == d.Metric, known})
	}
	return out
}

// column splits a platform's title, "CUDA (NVIDIA)", into name and vendor.
func column(i int, n platform.Name) columnView {
	whole := matrix.Title(n)
	title, vendor, _ := strings.Cut(whole, " (")
	return columnView{i, title, strings.TrimSuffix(vendor, ")"), whole}
}

func problemViews(list []Problem) []problemView {
	var out []problemView
	for _, p := range list {
		l := lookOf(cell.Shown(p.Verdict, p.Evidence))
		kind := string(p.Class)
		if p.Conditions != "" {
			kind = p.Conditions
		}
		evidence := string(p.Evidence)
		if p.Evidence == cell.None {
			evidence = ""
		}
		if p.Imported {
			evidence = strings.TrimSpace(evidence + " imported")
		}
		out = append(out, problemView{matrix.Name(p.Model), p.Target, string(l.verdict), l.mark, l.word(), evidence, kind, p.Why, p.Hint})
	}
	return out
}

func tableOf(s section) tableView {
	t := tableView{ID: strings.ToLower(s.title), Title: s.title, Note: s.note, Empty: capital(s.empty), Head: cellsOf(s.grid, s.grid.head)}
	for _, row := range s.grid.rows {
		t.Rows = append(t.Rows, cellsOf(s.grid, row))
	}
	return t
}

func cellsOf(g grid, row []string) []cellView {
	out := make([]cellView, len(row))
	for i, s := range row {
		out[i] = cellView{s, slices.Contains(g.numbers, i)}
	}
	return out
}

// barView is a line of the speed-up chart; lengths are percentages.
type barView struct {
	Model, Settings, Platform, Median, Value, Span string
	Width, Lo, SpanWidth                           string
	HasSpan                                        bool
}

// bars draws the speed-ups on one scale that begins at nothing, and says where
// on it the CPU stands.
func bars(list []matrix.Fastest) (lines []barView, one string) {
	longest := 1.0
	for _, o := range list {
		if o.Speedup != nil {
			longest = max(longest, o.Speedup.Ratio)
			if o.Speedup.Hi != nil {
				longest = max(longest, *o.Speedup.Hi)
			}
		}
	}
	share := func(v float64) string { return fmt.Sprintf("%.2f", 100*v/longest) }
	for _, o := range list {
		b := barView{Model: matrix.Name(o.Model), Settings: fmt.Sprintf("%s %s b%d · host %s", o.Size, o.Latency.DType, o.Latency.Batch, o.Latency.Host),
			Platform: o.Latency.Target, Median: marked(Milliseconds(o.Latency.MedianMS), o.Latency.Stable), Width: share(0)}
		b.Value, b.Span = overCPU(o)
		if o.IsCPU() {
			b.Width = share(1)
		}
		if s := o.Speedup; s != nil {
			b.Width = share(s.Ratio)
			if s.Lo != nil && s.Hi != nil {
				b.Lo, b.SpanWidth, b.HasSpan = share(*s.Lo), share(*s.Hi-*s.Lo), true
			}
		}
		lines = append(lines, b)
	}
	return lines, share(1)
}

func groups(m matrix.Matrix) []groupView {
	var out []groupView
	for _, r := range m.Rows {
		title := familyTitle(r.Family)
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, groupView{Title: title})
		}
		g := &out[len(out)-1]
		g.Rows = append(g.Rows, rowOf(r))
		g.Count = plural(len(g.Rows), "model")
	}
	return out
}

func rowOf(r matrix.Row) rowView {
	v := rowView{Name: label(r)}
	if r.Checkpoint != "" {
		v.Sub = r.Type
	}
	find := []string{matrix.Name(r.Model), r.Type, r.Family}
	var verdicts []string
	for _, s := range r.Squares {
		v.Squares = append(v.Squares, squareOf(r, s))
		verdicts = append(verdicts, string(s.Shown()))
		find = append(find, string(s.Class), s.Conditions)
		if s.Verdict == cell.Fails || s.Verdict == cell.Partial {
			find = append(find, s.Why)
		}
	}
	slices.Sort(verdicts)
	v.Verdicts = strings.Join(slices.Compact(verdicts), " ")
	v.Find = strings.ToLower(oneLine(strings.Join(find, " ")))
	return v
}

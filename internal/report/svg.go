package report

import (
	"fmt"
	"html"
	"io"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// The picture's measures, in pixels of a 900 px wide drawing.
const (
	svgWidth  = 900
	svgEdge   = 24  // around everything
	svgNames  = 200 // the column of names
	svgHead   = 108 // title and column heads
	svgRow    = 34
	svgFamily = 28
	svgGap    = 4
)

// svgStyle has both schemes; the drawing brings its own ground, so that it
// reads the same on any page. Tiles that are not measured are outlined.
const svgStyle = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1a2130;font-size:13px}
.ground{fill:#fff;stroke:#dfe3ea}.title{font-size:21px;font-weight:700}.soft{fill:#5b6678}.small{font-size:10.5px}.fam{font-size:11px;font-weight:600;letter-spacing:.05em;fill:#5b6678}
.head{font-weight:600;font-size:12.5px}.mark{font-weight:700;font-size:14px}.mid{text-anchor:middle}
.works{fill:#d5f0dd;stroke:#8fd0a5}.partial{fill:#fbecc0;stroke:#dcbd62}.should-work{fill:#f3fbf5;stroke:#8fd0a5;stroke-dasharray:3 2}.should-work-partly{fill:#fdf8e8;stroke:#dcbd62;stroke-dasharray:3 2}.fails{fill:#fad9d5;stroke:#e59d95}.unavailable{fill:#eceff3;stroke:#d3d9e1}.unknown{fill:#e7e2f8;stroke:#b9acea}.not-run{fill:none;stroke:none}
.t-works{fill:#0c5a2c}.t-partial{fill:#6a4a00}.t-should-work{fill:#0c5a2c}.t-should-work-partly{fill:#6a4a00}.t-fails{fill:#8c1c13}.t-unavailable{fill:#667184}.t-unknown{fill:#4b3b9c}.t-not-run{fill:#8a94a4}
.sq{stroke-width:0}.weak{stroke-width:1.2;stroke-dasharray:4 2.5;fill-opacity:.55}
@media (prefers-color-scheme:dark){text{fill:#e7ebf2}.ground{fill:#161b23;stroke:#29313d}.soft,.fam{fill:#96a1b3}
.works{fill:#153f27;stroke:#2c6b45}.partial{fill:#453810;stroke:#755f1d}.should-work{fill:#12231a;stroke:#2c6b45}.should-work-partly{fill:#262113;stroke:#755f1d}.fails{fill:#4b1d1a;stroke:#83342e}.unavailable{fill:#1e2530;stroke:#303947}.unknown{fill:#2b2550;stroke:#4b3f88}
.t-works{fill:#8fe3ae}.t-partial{fill:#f2d479}.t-should-work{fill:#8fe3ae}.t-should-work-partly{fill:#f2d479}.t-fails{fill:#ffaaa1}.t-unavailable{fill:#8c97a9}.t-unknown{fill:#c2b6ff}.t-not-run{fill:#667184}}
`

// drawing is an SVG under construction; y is where the next row goes.
type drawing struct {
	b     strings.Builder
	y     float64
	width float64 // of a square's column
}

// writeSVG draws the matrix for a README: text stays text.
func writeSVG(w io.Writer, d Document) error {
	g := &drawing{y: svgHead, width: (svgWidth - 2*svgEdge - svgNames) / float64(len(d.Matrix.Platforms))}
	g.head(d)
	if d.byFamily {
		g.families(d.Families)
	} else {
		g.models(d)
	}
	g.legend(d)
	height := g.y + svgEdge
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img" aria-label="%s">
<style>%s</style>
<rect class="ground" x=".5" y=".5" width="%d" height="%.0f" rx="14"/>
%s</svg>
`, svgWidth, height, svgWidth, height, html.EscapeString(d.Title+": "+subtitle(d)), svgStyle, svgWidth-1, height-1, g.b.String())
	return err
}

func (g *drawing) models(d Document) {
	family := "\x00"
	for _, r := range d.Matrix.Rows {
		if r.Family != family {
			family = r.Family
			g.text(svgEdge, g.y+19, "fam", strings.ToUpper(familyTitle(family)))
			g.y += svgFamily
		}
		g.row(r, d.Metric)
	}
}

// families draws a row a family: each square is divided among the verdicts.
func (g *drawing) families(rows []matrix.FamilyRow) {
	g.y += 2 * svgGap
	for _, f := range rows {
		g.text(svgEdge, g.y+svgRow/2+3, "", familyTitle(f.Family))
		for i, c := range f.Counts {
			x := g.middle(i) - g.width/2 + svgGap/2
			for _, l := range looks {
				part := (g.width - svgGap) * float64(c.Verdicts[l.verdict]) / float64(f.Models)
				if part > 0 {
					fmt.Fprintf(&g.b, "<rect class=\"sq %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\"/>", l.verdict, x, g.y, part, svgRow-svgGap)
				}
				x += part
			}
			g.text(g.middle(i), g.y+svgRow/2+2.5, "mid", tally(c.Verdicts, func(_ cell.Verdict, s string) string { return s }))
		}
		g.y += svgRow
	}
}

func (g *drawing) text(x, y float64, class, s string) {
	fmt.Fprintf(&g.b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(s))
}

func (g *drawing) head(d Document) {
	g.text(svgEdge, 42, "title", d.Title)
	g.text(svgEdge, 62, "soft", subtitle(d))
	for i, p := range d.Matrix.Platforms {
		c := column(i, p)
		g.text(g.middle(i), svgHead-16, "head mid", c.Name)
		g.text(g.middle(i), svgHead-3, "soft small mid", c.Vendor)
	}
}

func (g *drawing) middle(i int) float64 { return svgEdge + svgNames + (float64(i)+0.5)*g.width }

func (g *drawing) row(r matrix.Row, m Metric) {
	g.text(svgEdge, g.y+svgRow/2+3, "", ellipsis(label(r), 27))
	for i, s := range r.Squares {
		g.square(i, r, s, m)
	}
	g.y += svgRow
}

func (g *drawing) square(i int, r matrix.Row, s matrix.Square, m Metric) {
	verdict := html.EscapeString(string(inkOf(s)))
	x, class := g.middle(i)-g.width/2+svgGap/2, "sq "+verdict
	if gradeOf(s.Evidence).short != "" || s.Atlas != nil {
		class += " weak"
	}
	v := squareOf(r, s)
	fmt.Fprintf(&g.b, "<g><title>%s</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"6\"/>",
		html.EscapeString(v.Tip), class, x, g.y, g.width-svgGap, svgRow-svgGap)
	ink := "mid t-" + verdict
	if number := value(s, m); number != "" {
		g.text(g.middle(i), g.y+svgRow/2+2.5, ink, strings.TrimSpace(number+" "+importedNumber(s, m)))
	} else if isSet(s) || s.Atlas != nil {
		g.text(g.middle(i), g.y+14, ink+" mark", v.Mark)
		g.text(g.middle(i), g.y+25, ink+" small", under(s))
	} else {
		g.text(g.middle(i), g.y+svgRow/2+2.5, ink+" mark", v.Mark)
	}
	g.b.WriteString("</g>\n")
}

// under is the line under a mark: size and what departs from plain measurement.
func under(s matrix.Square) string {
	if s.Atlas != nil {
		return published
	}
	parts := []string{s.Size}
	if s.Weights != cell.Random {
		parts = append(parts, weightsWord(s.Weights))
	}
	if s.Conditions != "" {
		return ellipsis(s.Conditions, 13) + importedAfter(s)
	}
	if g := gradeOf(s.Evidence).short; g != "" {
		parts = append(parts, g)
	}
	if s.Imported {
		parts = append(parts, imported)
	}
	return strings.Join(parts, " · ")
}

func (g *drawing) legend(d Document) {
	g.y += 14
	x := float64(svgEdge)
	for _, l := range looks {
		fmt.Fprintf(&g.b, "<rect class=\"sq %s\" x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"18\" rx=\"5\"/>", l.verdict, x, g.y)
		g.text(x+10, g.y+13.5, "mid mark t-"+string(l.verdict), l.mark)
		label := fmt.Sprintf("%s %d", l.word(), d.Counts[l.verdict])
		g.text(x+26, g.y+13.5, "soft", label)
		x += 46 + 7*float64(len(label))
	}
	g.y += 18
	var notes []string
	for _, k := range grades[1:] {
		if uses(d.Matrix, k.evidence) {
			notes = append(notes, k.short+" = "+string(k.evidence))
		}
	}
	if anyPublished(d.Matrix) && !d.byFamily {
		g.y += 24
		g.text(svgEdge, g.y-4, "soft", publishedNote)
	}
	if anyImported(d.Matrix) && !d.byFamily {
		g.y += 24
		g.text(svgEdge, g.y-4, "soft", importedNote)
	}
	if len(notes) > 0 && !d.byFamily {
		g.y += 24
		g.text(svgEdge, g.y-4, "soft", "Dashed cells were not measured on the device: "+strings.Join(notes, ", ")+".")
	}
}

func importedAfter(s matrix.Square) string {
	if s.Imported {
		return " · " + imported
	}
	return ""
}

func ellipsis(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

package plots

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The measures of a drawing, in pixels.
const (
	width  = 900.0
	edge   = 24.0
	top    = 78.0 // below the title
	rowGap = 26.0
)

const style = `text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1a2130;font-size:12px}
.ground{fill:#fff;stroke:#dfe3ea}.title{font-size:19px;font-weight:700}.soft{fill:#566172}.small{font-size:11px}.end{text-anchor:end}.mid{text-anchor:middle}
.bar{fill:#6fbb8b}.whisker{stroke:#1a2130;stroke-width:2}.grid{stroke:#edf0f4}.axis{stroke:#b9c2ce}.step{stroke:#8a1a11;stroke-width:1.5}.level{stroke:#8a96a8;stroke-width:1.5}
.more{fill:#d5f0dd}.less{fill:#fad9d5}.sq{stroke:#dfe3ea}.line{fill:none;stroke-width:2}.c0{stroke:#2f4fc0;fill:#2f4fc0}.c1{stroke:#a67c00;fill:#a67c00}.c2{stroke:#23784a;fill:#23784a}.c3{stroke:#b03a2e;fill:#b03a2e}.c4{stroke:#6a55b8;fill:#6a55b8}.c5{stroke:#566172;fill:#566172}
@media (prefers-color-scheme:dark){text{fill:#e7ebf2}.ground{fill:#161b23;stroke:#2b3440}.soft{fill:#a3adbd}.bar{fill:#37845a}.whisker{stroke:#e7ebf2}.grid{stroke:#1f2630}.axis{stroke:#434e5e}.step{stroke:#ffb4ac}.level{stroke:#6d7a8c}
.more{fill:#153f27}.less{fill:#4b1d1a}.sq{stroke:#2b3440}.c0{stroke:#9db2ff;fill:#9db2ff}.c1{stroke:#f4d982;fill:#f4d982}.c2{stroke:#95e6b3;fill:#95e6b3}.c3{stroke:#ffb4ac;fill:#ffb4ac}.c4{stroke:#c9beff;fill:#c9beff}.c5{stroke:#a3adbd;fill:#a3adbd}}
path.line{fill:none!important}circle.hollow{fill:#fff!important}@media (prefers-color-scheme:dark){circle.hollow{fill:#161b23!important}}`

// drawing is an SVG under construction.
type drawing struct{ b strings.Builder }

func (d *drawing) add(format string, values ...any) { fmt.Fprintf(&d.b, format+"\n", values...) }

func (d *drawing) text(x, y float64, class, s string) {
	d.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(s))
}

// done is the drawing in its frame.
func (d *drawing) done(title, subtitle string, height float64) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">
<style>%s</style>
<defs><pattern id="shaky" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="bar" width="3" height="6"/></pattern></defs>
<rect class="ground" x=".5" y=".5" width="%.0f" height="%.0f" rx="14"/>
`, width, height, width, height, html.EscapeString(title), style, width-1, height-1)
	head := &drawing{}
	head.text(edge, 38, "title", title)
	head.text(edge, 58, "soft", subtitle)
	out.WriteString(head.b.String())
	out.WriteString(d.b.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// scale maps values to pixels, evenly or by powers of ten.
type scale struct {
	lo, hi, from, to float64
	log              bool
}

// wide is from which ratio of the largest to the smallest on bars are drawn by powers of ten.
const wide = 50

// fromZero is the scale of bars.
func fromZero(values []float64, from, to float64) scale {
	lo, hi := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 {
			lo = min(lo, v)
		}
		hi = max(hi, v)
	}
	if hi/lo > wide {
		return scale{math.Pow(10, math.Floor(math.Log10(lo))-0.3), hi, from, to, true}
	}
	return scale{0, max(hi, 1e-12), from, to, false}
}

func (s scale) at(v float64) float64 {
	share := 0.0
	switch {
	case s.log && v > 0:
		share = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	case !s.log && s.hi > s.lo:
		share = (v - s.lo) / (s.hi - s.lo)
	}
	return s.from + min(1, max(0, share))*(s.to-s.from)
}

// ticks are round values on the scale.
func (s scale) ticks() []float64 {
	var out []float64
	if s.log {
		for v := math.Pow(10, math.Ceil(math.Log10(s.lo))); v <= s.hi; v *= 10 {
			out = append(out, v)
		}
		return out
	}
	span := s.hi - s.lo
	if span <= 0 {
		return []float64{s.lo}
	}
	unit := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(unit*m) <= 6 {
			unit *= m
			break
		}
	}
	for v := math.Ceil(s.lo/unit) * unit; v <= s.hi+unit/1e6; v += unit {
		out = append(out, v)
	}
	return out
}

func ellipsis(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// shown says how many of how many a plot has.
func shown(n int, what string) string {
	if n > most {
		return fmt.Sprintf("the first %d of %d %s", most, n, what)
	}
	return fmt.Sprintf("%d %s", n, what)
}

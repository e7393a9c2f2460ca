package plots

import (
	"html"
	"math"
	"slices"

	"assay/internal/report"
)

// square is one of a heat map: how many times faster a model is on a target.
type square struct {
	model, target string
	ratio         float64
	shaky         bool // a time that it is made of is unstable
}

// heat draws a heat map. Each square has its number: the tint only repeats it.
func heat(title string, list []square) string {
	if len(list) == 0 {
		return ""
	}
	var models, targets []string
	for _, s := range list {
		if !slices.Contains(models, s.model) {
			models = append(models, s.model)
		}
		if !slices.Contains(targets, s.target) {
			targets = append(targets, s.target)
		}
	}
	const names = 220
	column := min(120, (width-2*edge-names)/float64(len(targets)))
	d := &drawing{}
	for i, t := range targets {
		d.text(edge+names+(float64(i)+0.5)*column, top+8, "mid", ellipsis(t, 18))
	}
	rows := models[:min(len(models), most)]
	for i, m := range rows {
		d.text(edge+names-10, top+32+rowGap*float64(i), "end", ellipsis(m, 32))
	}
	for _, s := range list {
		if row := slices.Index(rows, s.model); row >= 0 {
			d.square(s, edge+names+float64(slices.Index(targets, s.target))*column, top+16+rowGap*float64(row), column)
		}
	}
	return d.done(title, shown(len(models), "models")+"; ~ marks ratios of unstable times", top+40+rowGap*float64(len(rows)))
}

func (d *drawing) square(s square, x, y, column float64) {
	class, number := "more", report.Times(s.ratio)
	if s.ratio < 1 {
		class = "less"
	}
	if s.shaky {
		number += " ~"
	}
	strength := min(1, 0.25+math.Abs(math.Log2(s.ratio))/5)
	d.add(`<g><title>%s</title><rect class="sq %s" fill-opacity="%.2f" x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="4"/>`,
		html.EscapeString(s.model+" on "+s.target+": "+number), class, strength, x+1, y+1, column-2, rowGap-2)
	d.text(x+column/2, y+17, "mid", number)
	d.add("</g>")
}

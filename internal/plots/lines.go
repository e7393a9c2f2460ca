package plots

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// line is one of a plot of lines.
type line struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// mostLines is how many lines a plot has: more cannot be told apart.
const mostLines = 8

// dashes and the colours of the style tell lines apart.
var dashes = []string{"", "7 4", "2 4"}

// lines draws lines over batches.
func lines(title, axis string, list []line, text func(float64) string) string {
	if len(list) == 0 {
		return ""
	}
	total := len(list)
	list = list[:min(total, mostLines)]
	const height = 260.0
	x, y := span(list, func(p point) float64 { return p.x }), span(list, func(p point) float64 { return p.y })
	x.from, x.to = edge+70, width-edge-20
	x.log = x.lo > 0 && x.hi > x.lo
	bottom := top + height
	y.lo, y.from, y.to = 0, bottom, top
	d := &drawing{}
	d.frame(x, y, axis, list, text)
	for i, l := range list {
		d.line(i, l, x, y, text)
	}
	for i, l := range list {
		d.text(edge+34, bottom+54+20*float64(i), "", ellipsis(l.name, 110))
		d.add(`<line class="line c%d" stroke-dasharray="%s" x1="%.0f" y1="%.1f" x2="%.0f" y2="%.1f"/>`, i%6, dashes[i%len(dashes)], edge, bottom+50+20*float64(i), edge+26, bottom+50+20*float64(i))
	}
	subtitle := fmt.Sprintf("%d lines", total)
	if total == 1 {
		subtitle = list[0].name
	}
	if total > mostLines {
		subtitle = fmt.Sprintf("the first %d of %d lines", mostLines, total)
	}
	return d.done(title, subtitle, bottom+60+20*float64(len(list)))
}

// span is the scale of all points, one way.
func span(list []line, of func(point) float64) scale {
	s := scale{lo: math.Inf(1), hi: math.Inf(-1)}
	for _, l := range list {
		for _, p := range l.points {
			s.lo, s.hi = min(s.lo, of(p)), max(s.hi, of(p))
		}
	}
	return s
}

// frame draws the axes.
func (d *drawing) frame(x, y scale, axis string, list []line, text func(float64) string) {
	for _, v := range y.ticks() {
		at := y.at(v)
		d.add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.from, at, x.to, at)
		if v == 0 {
			d.text(x.from-8, at+4, "soft small end", "0")
			continue
		}
		d.text(x.from-8, at+4, "soft small end", text(v))
	}
	d.add(`<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.from, y.from, x.to, y.from)
	seen := map[float64]bool{}
	for _, l := range list {
		for _, p := range l.points {
			if !seen[p.x] {
				d.text(x.at(p.x), y.from+18, "soft small mid", strconv.FormatFloat(p.x, 'g', -1, 64))
			}
			seen[p.x] = true
		}
	}
	d.text((x.from+x.to)/2, y.from+34, "soft small mid", axis)
}

func (d *drawing) line(i int, l line, x, y scale, text func(float64) string) {
	var path []string
	for _, p := range l.points {
		path = append(path, fmt.Sprintf("%.1f %.1f", x.at(p.x), y.at(p.y)))
	}
	d.add(`<path class="line c%d" stroke-dasharray="%s" d="M%s"/>`, i%6, dashes[i%len(dashes)], strings.Join(path, "L"))
	for _, p := range l.points {
		d.add(`<circle class="c%d" cx="%.1f" cy="%.1f" r="3"><title>%s</title></circle>`, i%6, x.at(p.x), y.at(p.y), html.EscapeString(l.name+": "+text(p.y)))
	}
}

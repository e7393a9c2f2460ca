package plots

import "html"

// bar is one of a plot of bars.
type bar struct {
	label, note string
	value       float64
	lo, hi      *float64
	shaky       bool // its time is unstable
}

// bars draws horizontal bars with their intervals.
func bars(title string, list []bar, text func(float64) string) string {
	if len(list) == 0 {
		return ""
	}
	total := len(list)
	list = list[:min(total, most)]
	const names, right = 290, 90
	var values []float64
	for _, b := range list {
		values = append(values, b.value)
		if b.hi != nil {
			values = append(values, *b.hi)
		}
	}
	s := fromZero(values, edge+names, width-edge-right)
	d, bottom := &drawing{}, top+rowGap*float64(len(list))
	d.axis(s, bottom, text)
	for i, b := range list {
		d.bar(b, s, top+rowGap*float64(i), text)
	}
	subtitle := shown(total, "cells")
	if s.log {
		subtitle += ", drawn by powers of ten"
	}
	if hasShaky(list) {
		subtitle += "; ~ marks unstable times"
	}
	return d.done(title, subtitle, bottom+44)
}

func (d *drawing) axis(s scale, bottom float64, text func(float64) string) {
	for _, v := range s.ticks() {
		x := s.at(v)
		d.add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, top-6, x, bottom)
		d.text(x, bottom+16, "soft small mid", text(v))
	}
	d.add(`<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, s.from, top-6, s.from, bottom)
}

func (d *drawing) bar(b bar, s scale, y float64, text func(float64) string) {
	fill, number := `class="bar"`, text(b.value)
	if b.shaky {
		fill, number = `fill="url(#shaky)"`, number+" ~"
	}
	tip := b.label + ": " + number
	if b.note != "" {
		tip += ", " + b.note
	}
	d.add(`<g><title>%s</title>`, html.EscapeString(tip))
	d.text(s.from-10, y+14, "end", ellipsis(b.label, 42))
	d.add(`<rect %s x="%.1f" y="%.1f" width="%.1f" height="14" rx="3"/>`, fill, s.from, y+3, max(1, s.at(b.value)-s.from))
	end := s.at(b.value)
	if b.lo != nil && b.hi != nil {
		d.add(`<line class="whisker" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, s.at(*b.lo), y+10, s.at(*b.hi), y+10)
		end = max(end, s.at(*b.hi))
	}
	d.text(end+7, y+14, "", number)
	d.add("</g>")
}

func hasShaky(list []bar) bool {
	for _, b := range list {
		if b.shaky {
			return true
		}
	}
	return false
}

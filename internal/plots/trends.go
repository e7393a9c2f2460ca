package plots

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"assay/internal/report"
	"assay/internal/trend"
)

// leastRuns is how many runs make a history that is worth drawing.
const leastRuns = 3

// The measures of one history, in pixels: two stand beside each other.
const (
	historyWidth  = (width - 3*edge) / 2
	historyHeight = 96.0
	historyRow    = historyHeight + 64
	historyMargin = 62.0 // for the values at its left
	historyInside = 6.0
)

// leastSpan is what a history's scale holds at least, as a share of its median: noise
// alone must not fill it from bottom to top.
const leastSpan = 0.1

// histories draws the cells that were timed in three runs or more, each on a scale of its
// own: a step of a fast cell cannot be seen on that of a slow one.
func histories(list []trend.Series) string {
	list = slices.DeleteFunc(slices.Clone(list), func(s trend.Series) bool { return len(s.Points) < leastRuns })
	if len(list) == 0 {
		return ""
	}
	d := &drawing{}
	drawn := list[:min(len(list), most)]
	for i, s := range drawn {
		d.history(s, edge+float64(i%2)*(historyWidth+edge), top+10+float64(i/2)*historyRow)
	}
	what := "histories, runs evenly spaced"
	if len(list) == 1 {
		what = "history, runs evenly spaced"
	}
	if slices.ContainsFunc(drawn, func(s trend.Series) bool {
		return slices.ContainsFunc(s.Points, func(p trend.Point) bool { return p.Unstable })
	}) {
		what += "; hollow dots are unstable times"
	}
	return d.done("Median latency over time", shown(len(list), what), top+float64((len(drawn)+1)/2)*historyRow)
}

// history draws one cell's runs, its levels and its steps.
func (d *drawing) history(s trend.Series, left, y0 float64) {
	x := scale{lo: 0, hi: float64(len(s.Points) - 1), from: left + historyMargin + historyInside, to: left + historyWidth - historyInside}
	y := historyScale(s, y0+12)
	d.text(left, y0, "", ellipsis(s.Cell.String(), 56))
	d.text(left+historyMargin-8, y.to+8, "soft small end", report.Milliseconds(y.hi))
	d.text(left+historyMargin-8, y.from, "soft small end", report.Milliseconds(y.lo))
	for _, at := range []float64{y.from, y.to} {
		d.add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, left+historyMargin, at, left+historyWidth, at)
	}
	first, last := s.Points[0].At, s.Points[len(s.Points)-1].At
	d.text(x.from, y.from+16, "soft small", day(first))
	d.text(x.to, y.from+16, "soft small end", day(last))
	d.text((x.from+x.to)/2, y.from+16, "soft small mid", fmt.Sprintf("%d runs", len(s.Points)))
	var path []string
	for i, p := range s.Points {
		path = append(path, fmt.Sprintf("%.1f %.1f", x.at(float64(i)), y.at(p.MedianMS)))
	}
	from := 0.0
	for i, step := range s.Steps {
		at := float64(slices.Index(s.Points, step.Before)) - 0.5
		d.level(x, y, from, at, step.BeforeMS)
		if i == len(s.Steps)-1 {
			d.level(x, y, at, x.hi, step.AfterMS)
		}
		from = at
		d.add(`<line class="step" stroke-dasharray="3 3" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.at(at), y.to, x.at(at), y.from)
		d.text(x.at(at), y0+14, "small mid", fmt.Sprintf("%+.1f %%", 100*(step.Ratio-1)))
	}
	d.add(`<path class="line c0" d="M%s"/>`, strings.Join(path, "L"))
	for i, p := range s.Points {
		d.run(p, x.at(float64(i)), y.at(p.MedianMS))
	}
}

// run draws the dot of one, hollow where its repeats differ too much.
func (d *drawing) run(p trend.Point, x, y float64) {
	class, mark := "c0", ""
	if p.Unstable {
		class, mark = "c0 hollow", " ~"
	}
	d.add(`<circle class="%s" cx="%.1f" cy="%.1f" r="2.5"><title>%s</title></circle>`, class, x, y,
		html.EscapeString(fmt.Sprintf("%s (%s): %s%s", p.Run, p.At.UTC().Format("2006-01-02 15:04"), report.Milliseconds(p.MedianMS), mark)))
}

func (d *drawing) level(x, y scale, from, to, ms float64) {
	d.add(`<line class="level" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.at(from), y.at(ms), x.at(to), y.at(ms))
}

// historyScale holds all runs of a history, and no less than leastSpan.
func historyScale(s trend.Series, upper float64) scale {
	values := make([]float64, len(s.Points))
	for i, p := range s.Points {
		values[i] = p.MedianMS
	}
	lo, hi := slices.Min(values), slices.Max(values)
	if least := leastSpan * (lo + hi) / 2; hi-lo < least {
		lo, hi = (lo+hi-least)/2, (lo+hi+least)/2
	}
	return scale{lo: lo, hi: hi, from: upper + historyHeight - historyInside, to: upper + historyInside}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

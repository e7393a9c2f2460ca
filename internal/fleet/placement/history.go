package placement

import (
	"math"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/measure"

	"gonum.org/v1/gonum/stat"
)

// keep is how many durations of one thing are remembered: the newest.
const keep = 15

// History expects how long cells take from how long they took. Durations are
// brought to speed 1, so that what a fast machine did says something about a slow
// one. The zero value knows nothing and is ready to use; it is not safe for use by
// several goroutines.
type History struct {
	cells   map[string][]float64           // by hash and timing
	models  map[model]map[string][]float64 // by target
	targets map[place]*typical
}

type model struct {
	name, checkpoint, size string
	timing                 cell.Timing
}

type place struct {
	target, size string
	timing       cell.Timing
}

// typical is what models take somewhere. Its middle is that of all that is remembered,
// found when it is asked for.
type typical struct {
	seconds []float64 // as they came
	sorted  []float64 // nil if not up to date
	mean    float64   // if sorted
}

// most is how many durations of a target are remembered.
const most = 2000

func (t *typical) learn(seconds float64) {
	if len(t.seconds) >= most {
		t.seconds = slices.Delete(t.seconds, 0, most/4)
	}
	t.seconds, t.sorted = append(t.seconds, seconds), nil
}

func (t *typical) sort() {
	if t.sorted == nil {
		t.sorted, t.mean = slices.Sorted(slices.Values(t.seconds)), stat.Mean(t.seconds, nil)
	}
}

func (t *typical) quantile(q float64) float64 {
	t.sort()
	return t.sorted[min(int(q*float64(len(t.sorted))), len(t.sorted)-1)]
}

// Learn remembers that a cell took so long on a target of this speed.
func (h *History) Learn(c cell.Cell, timing cell.Timing, speed float64, took time.Duration) {
	if took <= 0 {
		return
	}
	if speed <= 0 {
		speed = 1
	}
	if h.cells == nil {
		h.cells, h.models, h.targets = map[string][]float64{}, map[model]map[string][]float64{}, map[place]*typical{}
	}
	c = normal(c)
	seconds := took.Seconds() * speed
	key := c.Hash + string(timing)
	h.cells[key] = newest(h.cells[key], seconds)
	m, p := modelOf(c, timing), placeOf(c, timing)
	if h.models[m] == nil {
		h.models[m] = map[string][]float64{}
	}
	h.models[m][c.Target] = newest(h.models[m][c.Target], seconds)
	if h.targets[p] == nil {
		h.targets[p] = &typical{}
	}
	h.targets[p].learn(seconds)
}

func newest(kept []float64, seconds float64) []float64 {
	kept = append(kept, seconds)
	return kept[max(0, len(kept)-keep):]
}

// Expect is how long a cell should take at speed 1: the median of its own past, or of its
// model's there with other settings. Otherwise it is a guess: what the model takes elsewhere, in
// proportion to what others take here and there, but no less than the mean of all here; 0 where
// nothing is known.
func (h *History) Expect(c cell.Cell, timing cell.Timing) (takes time.Duration, guess bool) {
	c = normal(c)
	var seconds float64
	if past := h.cells[c.Hash+string(timing)]; len(past) > 0 {
		seconds = measure.Median(past)
	} else if past := h.models[modelOf(c, timing)][c.Target]; len(past) > 0 {
		seconds = measure.Median(past)
	} else {
		guess = true
		seconds = h.guess(c, timing)
	}
	return time.Duration(seconds * float64(time.Second)), guess
}

func (h *History) guess(c cell.Cell, timing cell.Timing) float64 {
	here := h.targets[placeOf(c, timing)]
	if here == nil {
		return 0
	}
	here.sort()
	seconds := here.mean
	if ratio, ok := h.elsewhere(c, timing); ok {
		seconds = max(seconds, here.quantile(0.5)*ratio)
	}
	return seconds
}

// elsewhere is how many times as long as others a model takes on targets where it is known:
// the geometric mean over them.
func (h *History) elsewhere(c cell.Cell, timing cell.Timing) (float64, bool) {
	sum, n := 0.0, 0
	for target, past := range h.models[modelOf(c, timing)] {
		there := h.targets[place{target, c.Size, timing}]
		if usual := there.quantile(0.5); usual > 0 {
			sum += math.Log(measure.Median(past) / usual)
			n++
		}
	}
	return math.Exp(sum / float64(max(1, n))), n > 0
}

func normal(c cell.Cell) cell.Cell {
	if c.Hash == "" || c.Target == "" || c.Size == "" {
		return c.Normal()
	}
	return c
}

func modelOf(c cell.Cell, timing cell.Timing) model {
	return model{c.Type, c.Checkpoint, c.Size, timing}
}

func placeOf(c cell.Cell, timing cell.Timing) place { return place{c.Target, c.Size, timing} }

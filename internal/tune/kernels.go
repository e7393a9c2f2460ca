package tune

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"assay/internal/measure"
	"assay/internal/pages"
	"assay/internal/platform"
)

// Kernel is one of the page's own, on a problem of a shape.
type Kernel struct {
	Name  string
	Shape map[string]int
}

// Kernels are all of them, each on a problem of the size that front ends and
// language models have: a second of sound at 16 kHz, one token through a layer.
func Kernels() []Kernel {
	return []Kernel{
		{"stft", map[string]int{"samples": 16000, "length": 400, "hop": 160}},
		{"mel", map[string]int{"frames": 100, "bins": 201, "bands": 80}},
		{"matmul4", map[string]int{"rows": 1, "columns": 1024, "inner": 1024}},
	}
}

// sizes are the workgroup sizes that are tried; those beyond an adapter's
// limits are refused by the page.
var sizes = []int{16, 32, 64, 128, 256, 512, 1024}

// DefaultSize is the workgroup size where nothing is known: what most guides
// for WebGPU begin with.
const DefaultSize = 64

const (
	scouts      = 3 // pages that name a candidate
	rounds      = 7 // over all sizes, in a page
	seed        = 1
	kernelLimit = 2 * time.Minute
)

// found is the page's answer to a search.
type found struct {
	Clock string `json:"clock"`
	Rows  []struct {
		Size    int       `json:"size"`
		Error   float64   `json:"error"`
		MS      []float64 `json:"ms"`
		Refused string    `json:"refused"`
	} `json:"rows"`
}

func (b *Bench) search(ctx context.Context, t platform.Target, k Kernel, sizes []int) (f found, err error) {
	call := pages.Call{Op: "search", Limit: kernelLimit, With: map[string]any{
		"kernel": k.Name, "shape": k.Shape, "sizes": sizes, "rounds": rounds, "seed": seed,
	}}
	err = b.inPage(ctx, t, func(p Page) error { return p.Ask(ctx, call, &f) })
	return f, err
}

// Workgroup compares a kernel's default size with the best of the others.
func (b *Bench) Workgroup(ctx context.Context, t platform.Target, k Kernel) (Row, error) {
	row := Row{What: Workgroup, Subject: k.Name, Target: t.String(), A: Way{Name: strconv.Itoa(DefaultSize)}}
	seen, err := b.scout(ctx, t, k)
	if err != nil {
		return row, err
	}
	row.Notes, row.Measure = seen.notes(), "one dispatch, by "+seen.clock
	if reason, refused := seen.refused[DefaultSize]; refused {
		row.Refused = fmt.Sprintf("at %d invocations: %s", DefaultSize, reason)
		return row.settled(), nil
	}
	best := seen.best()
	if best == 0 {
		row.Refused = "no other size is within the adapter's limits"
		return row.settled(), nil
	}
	row.B.Name = strconv.Itoa(best)
	return b.compare(ctx, row, func(ctx context.Context, bFirst bool) (x, y []float64, err error) {
		order := []int{DefaultSize, best}
		if bFirst {
			slices.Reverse(order)
		}
		f, err := b.search(ctx, t, k, order)
		if err != nil {
			return nil, nil, err
		}
		times := map[int][]float64{}
		for _, r := range f.Rows {
			if r.Refused != "" {
				return nil, nil, fmt.Errorf("at %d invocations: %s", r.Size, r.Refused)
			}
			times[r.Size] = r.MS
		}
		return times[DefaultSize], times[best], nil
	}).settled(), nil
}

// scouted is what the first pages saw of each size.
type scouted struct {
	clock   string
	ms      map[int][]float64 // the median of each page
	refused map[int]string
}

func (b *Bench) scout(ctx context.Context, t platform.Target, k Kernel) (scouted, error) {
	out := scouted{ms: map[int][]float64{}, refused: map[int]string{}}
	for range min(scouts, b.Repeats) {
		f, err := b.search(ctx, t, k, sizes)
		if err != nil {
			return out, err
		}
		out.clock = f.Clock
		for _, r := range f.Rows {
			if r.Refused != "" {
				out.refused[r.Size] = r.Refused
				continue
			}
			out.ms[r.Size] = append(out.ms[r.Size], measure.Median(r.MS))
		}
	}
	for size := range out.refused {
		delete(out.ms, size)
	}
	return out, nil
}

// best is the fastest size that is not the default one; 0 is none.
func (s scouted) best() int {
	best := 0
	for _, size := range slices.Sorted(maps.Keys(s.ms)) {
		if size != DefaultSize && (best == 0 || measure.Median(s.ms[size]) < measure.Median(s.ms[best])) {
			best = size
		}
	}
	return best
}

// notes tell what each size took, and why some were not tried.
func (s scouted) notes() []string {
	var out []string
	for _, size := range slices.Sorted(maps.Keys(s.ms)) {
		out = append(out, fmt.Sprintf("%d: %s ms", size, ms(measure.Median(s.ms[size]))))
	}
	for _, size := range slices.Sorted(maps.Keys(s.refused)) {
		out = append(out, fmt.Sprintf("%d refused: %s", size, s.refused[size]))
	}
	return out
}

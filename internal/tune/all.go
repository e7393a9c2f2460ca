package tune

import (
	"context"
	"fmt"
	"time"

	"assay/internal/platform"
)

// Kernels asks every question about kernels on a target: first their workgroup
// sizes, which go into the book, then how they do against stock ones at the
// sizes that are in it.
func (b *Bench) Kernels(ctx context.Context, t platform.Target, s Setting, book Book) ([]Row, error) {
	if s.Adapter == nil {
		return nil, fmt.Errorf("%s has no WebGPU adapter: there is nothing to tune kernels on", s.Browser)
	}
	var rows []Row
	var sizes []Size
	for _, k := range Kernels() {
		b.Say(fmt.Sprintf("workgroup sizes of %s on %s", k.Name, t))
		row, err := b.Workgroup(ctx, t, k)
		if err != nil {
			return rows, err
		}
		if size, ok := Kept(row, k, s, time.Now()); ok {
			sizes = append(sizes, size)
		}
		rows = append(rows, row)
	}
	if err := book.Keep(ctx, sizes...); err != nil {
		return rows, err
	}
	chosen, err := book.Chosen(s)
	if err != nil {
		return rows, err
	}
	for _, d := range Duels() {
		b.Say(fmt.Sprintf("own kernel for %s against the stock one on %s", d.Name, t))
		rows = append(rows, b.OwnKernel(ctx, t, d, chosen))
	}
	return rows, ctx.Err()
}

package lab

import (
	"cmp"
	"slices"

	"assay/internal/cell"
)

// group is what one loaded model serves: cells alike except for batch and input
// size, smallest first, so that what memory allows is done before what it
// does not.
type group struct {
	routes []route
}

// head is the cell that stands for all in what they share.
func (g group) head() cell.Cell { return g.routes[0].cell }

// once leaves out routes that do not run, and those that lead to a cell that
// another route leads to: several absent platforms may fall back to one.
// What was asked for itself comes before what is a fallback.
func once(routes []route) []route {
	var out []route
	at := map[string]int{}
	for _, r := range routes {
		i, seen := at[r.cell.Hash]
		switch {
		case !r.runs:
		case !seen:
			at[r.cell.Hash] = len(out)
			out = append(out, r)
		case out[i].absent != "" && r.absent == "":
			out[i] = r
		}
	}
	return out
}

// groups gathers the routes that run into groups, in the plan's order.
func groups(routes []route) []group {
	at := map[cell.Key]int{}
	var out []group
	for _, r := range once(routes) {
		key := r.cell.Key(cell.AnyBatch, cell.AnyInput)
		if i, ok := at[key]; ok {
			out[i].routes = append(out[i].routes, r)
			continue
		}
		at[key] = len(out)
		out = append(out, group{routes: []route{r}})
	}
	for _, g := range out {
		slices.SortStableFunc(g.routes, func(a, b route) int {
			return cmp.Or(cmp.Compare(a.cell.Batch, b.cell.Batch), cmp.Compare(a.cell.Seq, b.cell.Seq), cmp.Compare(a.cell.Image, b.cell.Image))
		})
	}
	return out
}

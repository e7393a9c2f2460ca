package history

import (
	"context"
	"slices"

	"assay/internal/cell"
	"assay/internal/store"
)

// Here is the machine as it is now. What differs from it was done under other
// conditions and is to be done again.
type Here struct {
	Host     string            // its id
	Versions map[string]string // of the software that decides results
	// Content is the digest of the user's own files that a cell's model is made
	// of; "" for one of the catalogue or the Hub.
	Content func(context.Context, cell.Cell) (string, error)
	// Browsers are the versions of the browsers, by kind, as far as they are
	// known without starting one: what a browser last said about itself is kept
	// for a day, and until its program changes. Of a browser that is not among
	// them every version counts: to learn its version means to start it, which
	// takes as long as many of the cells that resuming would save. It is asked
	// only for a plan with cells in browsers; nil knows none.
	Browsers func(context.Context) map[string]string
}

// Unfinished is the plan without the cells that this host has a result of, made
// with the same versions and files, and timed if the plan is.
func (h *History) Unfinished(ctx context.Context, plan cell.Plan, here Here) (cell.Plan, error) {
	results, err := h.inShort(ctx, store.Filter{Hosts: []string{here.Host}, Types: types(plan), Versions: here.Versions})
	if err != nil {
		return plan, err
	}
	done := finished(results, here.browsers(ctx, plan))
	var left []cell.Cell
	for _, c := range plan.Cells {
		content, err := here.Content(ctx, c)
		if cause := context.Cause(ctx); cause != nil {
			return plan, cause
		}
		timing, ok := done[task{c.Key().Hash(), content}]
		// What cannot be read is not finished: carrying it out says what is wrong.
		if err != nil || !ok || plan.Timed() && timing == cell.Functional {
			left = append(left, c)
		}
	}
	plan.Cells = left
	return plan, nil
}

// inShort are the chosen results, each no more than what it came to.
func (h *History) inShort(ctx context.Context, f store.Filter) ([]cell.Result, error) {
	if empty, err := h.store.Empty(); err != nil || empty {
		return nil, err
	}
	return h.store.Brief(ctx, f)
}

func (here Here) browsers(ctx context.Context, plan cell.Plan) map[string]string {
	if here.Browsers == nil || !slices.ContainsFunc(plan.Cells, func(c cell.Cell) bool { return c.Engine.Traits().Pages }) {
		return nil
	}
	return here.Browsers(ctx)
}

// task is a cell by its hash, made of the files with this digest.
type task struct{ hash, content string }

// finished are the tasks that results have done, and the most thorough timing
// of each.
func finished(results []cell.Result, browsers map[string]string) map[task]cell.Timing {
	done := map[task]cell.Timing{}
	for _, r := range results {
		if !settles(r) || !sameBrowser(r, browsers) {
			continue
		}
		for _, hash := range r.SpeaksFor() {
			t := task{hash, r.Content}
			if r.Timing.Thoroughness() >= done[t].Thoroughness() {
				done[t] = r.Timing
			}
		}
	}
	return done
}

// settles reports whether a result says something of its cell that running it
// again would only repeat: not where the machine or Assay itself broke, nor
// where the device was not there, whatever was derived of it. It may be there now.
func settles(r cell.Result) bool {
	return r.Verdict != cell.Unavailable && r.Evidence != cell.Derived && !r.Broke()
}

func sameBrowser(r cell.Result, browsers map[string]string) bool {
	b := r.Context.Browser
	if b == nil {
		return true
	}
	now, known := browsers[b.Name]
	return !known || now == b.Version
}

// Latest are a host's newest results of a plan's cells, whenever they ran.
func (h *History) Latest(ctx context.Context, host string, plan cell.Plan) ([]cell.Result, error) {
	filter := store.Filter{Hosts: []string{host}}
	for _, c := range plan.Cells {
		filter.Cells = append(filter.Cells, c.Key().Hash())
	}
	stored, err := h.results(ctx, filter)
	if err != nil {
		return nil, err
	}
	var out []cell.Result
	seen := map[string]bool{}
	for _, x := range stored { // newest first
		if asked := x.Result.AskedHash(); !seen[asked] {
			seen[asked] = true
			out = append(out, x.Result)
		}
	}
	return out, nil
}

// types are the model types of a plan's cells.
func types(plan cell.Plan) []string {
	out := make([]string, len(plan.Cells))
	for i, c := range plan.Cells {
		out[i] = c.Type
	}
	slices.Sort(out)
	return slices.Compact(out)
}

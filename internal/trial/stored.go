package trial

import (
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/pytests"
)

// Stored is the newest verdict that is stored of a model with a head, tiny, at a
// batch, on the platform's own engine and dtype; "" where there is none.
type Stored func(model, task string, batch int) cell.Verdict

// CrossCheck compares the outcome of tests with the stored results of their models on
// the same platform, alone and in a batch of two, as the tests ask for both. What
// is partial there may be either.
func CrossCheck(models []Model, stored Stored) {
	for i := range models {
		m := &models[i]
		m.Stored = stored(m.Model, m.Task, 1)
		m.Disagrees = disagreement(m.File, m.Stored, stored(m.Model, m.Task, 2))
	}
}

// disagreement is how a test differs from the stored results of its model, alone
// and in a batch.
func disagreement(f pytests.File, alone, batch cell.Verdict) string {
	unasked := slices.ContainsFunc(f.Skipped, func(c pytests.Case) bool { return strings.HasPrefix(c.Test, "test_batch") })
	switch {
	case alone == cell.Fails && f.Green():
		return "the test passes, and the stored result fails"
	case batch == cell.Fails && f.Green() && !unasked:
		return "the test passes, and the stored result of a batch fails"
	case alone == cell.Works && batch != cell.Fails && len(f.Failed) > 0:
		return "the test fails, and the stored result works"
	}
	return ""
}

// Sum is what became of tests. Those that neither passed nor failed were skipped.
type Sum struct {
	Pipeline                string
	Files, Passed, Failed   int
	Stored, StoredAsWorking int // models of which a result is stored, and those that work or are partial by it
}

// Skipped are the files of which nothing ran.
func (s Sum) Skipped() int { return s.Files - s.Passed - s.Failed }

func (s *Sum) add(m Model) {
	s.Files++
	switch {
	case m.Green():
		s.Passed++
	case len(m.Failed) > 0:
		s.Failed++
	}
	switch m.Stored {
	case cell.Works, cell.Partial:
		s.Stored, s.StoredAsWorking = s.Stored+1, s.StoredAsWorking+1
	case cell.Fails:
		s.Stored++
	}
}

// Count counts what became of tests, of all and of each pipeline in the order of
// their names.
func Count(models []Model) (all Sum, pipelines []Sum) {
	by := map[string]*Sum{}
	for _, m := range models {
		all.add(m)
		if by[m.Pipeline] == nil {
			by[m.Pipeline] = &Sum{Pipeline: m.Pipeline}
		}
		by[m.Pipeline].add(m)
	}
	for _, s := range by {
		pipelines = append(pipelines, *s)
	}
	slices.SortFunc(pipelines, func(a, b Sum) int { return strings.Compare(a.Pipeline, b.Pipeline) })
	return all, pipelines
}

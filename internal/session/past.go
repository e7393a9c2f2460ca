package session

import (
	"context"
	"slices"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/platform"
)

// past reads what is known about times on this host, for a plan that may fall back.
// What cannot be read is not known, and says why.
func (s *Session) past(ctx context.Context, plan cell.Plan) lab.Past {
	switch {
	case !mayFall(plan):
		return lab.Past{}
	case s.o.Past == nil:
		return lab.Past{Why: "this program keeps no results to look the times up in"}
	}
	times, err := s.o.Past(ctx, s.Host().ID, plan)
	if err != nil {
		return lab.Past{Why: "the times of earlier runs cannot be read: " + err.Error()}
	}
	return lab.Past{Times: times}
}

// mayFall reports whether some cell of the plan has somewhere to fall back to.
func mayFall(plan cell.Plan) bool {
	return !plan.Strict && !plan.NoFallback && slices.ContainsFunc(plan.Cells, func(c cell.Cell) bool {
		p, _ := platform.Get(c.Platform)
		return len(p.Fallback) > 0
	})
}

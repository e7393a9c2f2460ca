package lab

import (
	"context"
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// dear are the platforms whose context is expensive to make: a quarter of a second
// alone, over a second with many at once, and more than a tiny model takes.
var dear = []platform.Name{platform.CUDA, platform.ROCm}

// reuse names the children in which a check may follow others; "" is a child
// of its own. Tiny models come and go in moments and bring no code of their
// own; a large one is worth a context.
func reuse(c cell.Cell, recipe Recipe) string {
	if c.Engine != platform.Torch || c.Size != cell.Tiny || recipe.Weights != nil || !slices.Contains(dear, c.Platform) {
		return ""
	}
	return c.Target
}

// executeCheck carries a check out. What does not simply work in a child that
// did others before is done again in one of its own: no model pays for what
// another left behind.
func (c *carrying) executeCheck(ctx context.Context, job runner.Job, recipe Recipe) (outcome, error) {
	if job.Kind == runner.CheckJob {
		job.Reuse = reuse(job.Cell, recipe)
	}
	out, err := c.execute(ctx, job)
	if err != nil || out.before == 0 || works(job.Cell, out, len(job.Points)) {
		return out, err
	}
	job.Reuse = ""
	return c.execute(ctx, job)
}

// works says whether every point of a job did.
func works(x cell.Cell, out outcome, points int) bool {
	for _, p := range out.points {
		if v, _, _ := verdict(x, p.Report); v != cell.Works {
			return false
		}
	}
	return out.failure == nil && len(out.points) == points
}

package plan

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"assay/internal/cell"
	"assay/internal/input"
)

// ReadFile reads a plan file; "-" is standard input.
func ReadFile(ctx context.Context, path string, stdin io.Reader) (cell.Plan, error) {
	b, err := input.Read(ctx, path, stdin, cell.MaxPlan)
	if err != nil {
		return cell.Plan{}, refuse("cannot read the plan: %w", err)
	}
	p, err := cell.ReadPlan(bytes.NewReader(b))
	if err != nil {
		return p, refuse("%s: %w", path, err)
	}
	return p, nil
}

// PlanFile is Plan for the cells of a plan file, run as the request says.
func (p *Planner) PlanFile(ctx context.Context, r Request, path string, stdin io.Reader) (cell.Plan, error) {
	if err := r.TakesFile(); err != nil { // before a file is read, or standard input waited for
		return cell.Plan{}, err
	}
	file, err := ReadFile(ctx, path, stdin)
	if err == nil {
		r, err = r.WithFile(file)
	}
	if err != nil {
		return cell.Plan{}, err
	}
	out, err := p.Plan(ctx, r)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return out, err
}

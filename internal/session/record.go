package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/lab"
	"assay/internal/progress"
)

// Header begins the journal of a plan that is about to run here.
func (s *Session) Header(plan cell.Plan, command string) journal.Header {
	now := time.Now().UTC()
	return journal.Header{
		Schema: journal.Schema, Host: s.Host(), Plan: &plan,
		Run: cell.Run{ID: journal.NewRunID(now), StartedAt: now, PlanHash: plan.Hash(), Command: command, Name: s.o.Name, Assay: s.o.Version},
	}
}

// Record runs a plan and journals each result before anyone hears of
// it, then closes the journal. What was finished is returned also when the
// plan was stopped.
func (s *Session) Record(ctx context.Context, plan cell.Plan, j *journal.Writer, on progress.Listener) ([]cell.Result, error) {
	rec := &recorder{journal: j, on: on}
	err := s.Carry(ctx, plan, rec)
	if d, ok := s.Detected(); ok {
		b, marshal := json.Marshal(d)
		if marshal == nil {
			_, marshal = j.AppendDetection(time.Now().UTC(), b)
		}
		err = errors.Join(err, marshal)
	}
	if err == nil {
		err = j.End()
	}
	return rec.results, errors.Join(err, j.Close())
}

// CarryInto runs a plan and journals it in a folder. The results that were
// finished are in the report also when it was stopped.
func (s *Session) CarryInto(ctx context.Context, dir string, plan cell.Plan, command string, on progress.Listener) (cell.Report, error) {
	if err := lab.Pinnable(plan.Pin); err != nil {
		return cell.Report{}, fmt.Errorf("the plan's pin: %w", err)
	}
	// A machine that cannot run the plan leaves no empty journal behind.
	if err := s.Ready(ctx, plan); err != nil {
		return cell.Report{}, err
	}
	h := s.Header(plan, command)
	report := cell.Report{Schema: cell.Schema, Run: h.Run, Host: h.Host}
	j, err := journal.Create(dir, h)
	if err != nil {
		return report, err
	}
	report.Results, err = s.Record(ctx, plan, j, on)
	return report, err
}

// recorder stands between the lab and who else listens.
type recorder struct {
	on      progress.Listener
	journal *journal.Writer
	results []cell.Result
}

// Hear commits a result before anyone else hears of it.
func (r *recorder) Hear(e progress.Event) error {
	if e.Kind == progress.KindFinished {
		if _, err := r.journal.Append(*e.Result); err != nil {
			return err
		}
		r.results = append(r.results, *e.Result)
	}
	return r.on.Hear(e)
}

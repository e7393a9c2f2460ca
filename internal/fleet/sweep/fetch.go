package sweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/journal"
	"assay/internal/progress"
)

// Fetched is what a sweep that somebody sent before came to.
type Fetched struct {
	cell.Report
	Left      int  // cells that have no result yet
	Cancelled bool // those that have none will get none

	hosts []cell.Host // as they came
	by    map[string][]cell.Result
}

// Fetch asks for a sweep's results: for those that are there, or, to wait, until every cell has one. Nothing changes by it,
// whoever sent the sweep and whether that one is still there; when ctx is done, what came is returned.
func Fetch(ctx context.Context, office fleet.Office, id string, wait bool, on progress.Listener) (*Fetched, error) {
	s, err := find(ctx, office, id)
	if err != nil {
		return nil, err
	}
	f := &Fetched{by: map[string][]cell.Result{}}
	f.Run = cell.Run{ID: s.ID, StartedAt: s.Started, PlanHash: s.PlanHash, Command: s.Command, Name: s.Name, Assay: s.Assay}
	if s.Started.IsZero() {
		f.Run.StartedAt = s.At
	}
	err = f.follow(ctx, office, wait, on)
	f.Report = reported(f.Run, f.hosts, f.Results)
	return f, err
}

// find is a sweep that the coordinator knows.
func find(ctx context.Context, office fleet.Office, id string) (fleet.Sweep, error) {
	st, err := office.Status(ctx)
	if err != nil {
		return fleet.Sweep{}, err
	}
	for _, s := range st.Sweeps {
		if s.ID == id {
			return s.Sweep, nil
		}
	}
	return fleet.Sweep{}, fmt.Errorf("no sweep %q is known here (see assay fleet status)", id)
}

func (f *Fetched) follow(ctx context.Context, office fleet.Office, wait bool, on progress.Listener) error {
	q := fleet.Question{Sweep: f.Run.ID}
	if wait {
		q.Wait = patience
	}
	for {
		var page fleet.Page
		err := again(ctx, func() (err error) { page, err = office.Answers(ctx, q); return err })
		if err != nil {
			return err
		}
		if err := f.take(page.Answers, on); err != nil {
			return err
		}
		q.After += len(page.Answers)
		f.Left, f.Cancelled = page.Left, page.Cancelled
		if page.Left == 0 {
			doubt(on, page.Suspect)
		}
		if page.Left == 0 || len(page.Answers) == 0 && !wait {
			return nil
		}
		if len(page.Answers) == 0 && len(page.Stranded) > 0 {
			pause(ctx, time.Second)
		}
	}
}

// take notes answers, machine by machine, and tells of them.
func (f *Fetched) take(answers []fleet.Final, on progress.Listener) error {
	for _, a := range answers {
		host, results, err := read(a)
		if err != nil {
			return err
		}
		if f.by[host.ID] == nil && len(results) > 0 {
			f.hosts = append(f.hosts, host)
		}
		f.by[host.ID] = append(f.by[host.ID], results...)
		f.Results = append(f.Results, results...)
		for _, r := range results {
			if err := on.Hear(progress.Finished(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Save brings the results into a folder of journals, in the places where their sender has them: those that are there already
// stay as they are.
func (f *Fetched) Save(dir string, here journal.Here) (journal.Imported, error) {
	all := journal.Imported{RunID: f.Run.ID}
	for i, h := range f.hosts {
		head := of(journal.Header{Schema: journal.Schema, Run: f.Run}, h, i)
		done, err := journal.ImportResults(head, f.by[h.ID], f.Left == 0, dir, here)
		if err != nil {
			return all, err
		}
		all.New, all.Known, all.Local = all.New+done.New, all.Known+done.Known, all.Local+done.Local
		all.Problems = slices.Concat(all.Problems, done.Problems)
	}
	return all, nil
}

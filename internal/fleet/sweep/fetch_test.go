package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/journal"
	"assay/internal/progress"
)

func deaf(progress.Event) error { return nil }

// Status of a coordinator that knows the sweeps that were sent to it.
func (o *office) Status(context.Context) (fleet.Status, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var s fleet.Status
	for _, x := range o.sent {
		s.Sweeps = append(s.Sweeps, fleet.SweepStatus{Sweep: x})
	}
	return s, nil
}

// answered are the answers of cells that ran on several machines in turn.
func answered(t *testing.T, plan cell.Plan, hosts int) []fleet.Final {
	t.Helper()
	var out []fleet.Final
	for i, c := range plan.Cells {
		r := cell.Result{Cell: c, Asked: c.Hash, Verdict: cell.Works, Evidence: cell.Measured, StartedAt: time.Now().UTC(), Outputs: []cell.Output{}}
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		host := cell.Host{ID: fmt.Sprintf("host-%d", i%hosts)}
		out = append(out, fleet.Final{Key: fmt.Sprint(i), Attempt: 1, Host: &host, Results: []json.RawMessage{body}})
	}
	return out
}

// pages hands answers out, two at a time, the first n of all.
func pages(all []fleet.Final, n *int) func(fleet.Question) fleet.Page {
	return func(q fleet.Question) fleet.Page {
		to := min(q.After+2, *n)
		return fleet.Page{Answers: all[min(q.After, to):to], Left: len(all) - to}
	}
}

// What a sender had before it was cut off, and what is fetched later, are together what the sender would have had.
func TestFetch(t *testing.T) {
	t.Parallel()
	plan := noops(9)
	all, n := answered(t, plan, 3), 5
	o := &office{}
	o.answers = func(q fleet.Question) fleet.Page {
		if q.After == n {
			return fleet.Page{Left: 4, Cancelled: true} // as somebody who is cut off
		}
		return pages(all, &n)(q)
	}
	sent := options(t, o)
	sent.Header.Run.Name, sent.Header.Run.Assay = "night", "1"
	if r, err := Carry(t.Context(), plan, sent, progress.Func(deaf)); err == nil || len(r.Results) != 5 {
		t.Fatalf("%v, %d results", err, len(r.Results))
	}
	o.answers = pages(all, &n)
	fetch := func(wait bool, left, fresh, known int) {
		t.Helper()
		f, err := Fetch(t.Context(), o, sent.Header.Run.ID, wait, progress.Func(deaf))
		if err != nil || f.Left != left || len(f.Results) != 9-left {
			t.Fatalf("%v, %d left, %d results", err, f.Left, len(f.Results))
		}
		if f.Run != sent.Header.Run {
			t.Errorf("the run is %+v", f.Run)
		}
		done, err := f.Save(sent.Dir, journal.Here{})
		if err != nil || done.New != fresh || done.Known != known {
			t.Errorf("%v, %+v: want %d new, %d known", err, done, fresh, known)
		}
	}
	fetch(false, 4, 0, 5)
	n = 7
	fetch(false, 2, 2, 5)
	n = 9
	fetch(true, 0, 2, 7)
	fetch(true, 0, 0, 9)
	for i, id := range []string{"", "-2", "-3"} {
		j, err := journal.Open(journal.Path(sent.Dir, sent.Header.Run.ID+id))
		if err != nil {
			t.Fatal(err)
		}
		if h := j.Header(); h.Host.ID != fmt.Sprintf("host-%d", i) || !h.Imported {
			t.Errorf("%s: %+v", id, h)
		}
		results := 0
		for line, err := j.Next(); err == nil; line, err = j.Next() {
			if line.Kind == journal.KindResult {
				results++
			}
		}
		if err := j.Close(); err != nil || results != 3 {
			t.Errorf("%s: %v, %d results", id, err, results)
		}
	}
	if _, err := Fetch(t.Context(), o, "nothing", false, progress.Func(deaf)); err == nil {
		t.Error("an unknown sweep has results")
	}
}

//go:build cgo

package store

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/journal"
)

// A journal that was edited where it lies is held to the run's own detection,
// wherever the detection stands in it and whenever its lines were loaded.
func TestForgedInPlaceIsRefused(t *testing.T) {
	t.Parallel()
	forged := result(1)
	forged.Cell = cell.Cell{Type: "bert", Target: "cuda"}.Normal()
	s := cell.SettingsOf(forged.Cell)
	forged.Requested, forged.Actual = s, &s
	type step func(*testing.T, *journal.Writer, *Store)
	add := func(r cell.Result) step {
		return func(t *testing.T, w *journal.Writer, _ *Store) { _, err := w.Append(r); must(t, err) }
	}
	detected := func(t *testing.T, w *journal.Writer, _ *Store) {
		_, err := w.AppendDetection(start, json.RawMessage(detection))
		must(t, err)
	}
	synced := func(t *testing.T, _ *journal.Writer, st *Store) { _, err := st.Sync(t.Context()); must(t, err) }
	for name, steps := range map[string][]step{
		"detected first":       {detected, add(result(0)), add(forged)},
		"detected last":        {add(result(0)), add(forged), detected},
		"loaded before":        {add(result(0)), add(forged), synced, detected},
		"detection loaded":     {detected, add(result(0)), synced, add(forged)},
		"and loaded after it":  {add(forged), detected, synced, add(result(0))},
		"what is absent stays": {add(result(0)), add(unavailable()), add(forged), detected},
	} {
		st := newStore(t)
		w, err := journal.Create(st.Journals(), header("run-1"))
		must(t, err)
		for _, step := range steps {
			step(t, w, st)
		}
		must(t, w.Close())
		for range 2 {
			rows, err := st.Query(t.Context(), "SELECT count(*) AS n FROM results WHERE verdict = 'works'")
			must(t, err)
			if rows.Values[0][0] != int64(1) {
				t.Errorf("%s: %v rows work", name, rows.Values[0][0])
			}
			if notes := strings.Join(rows.Notes, "\n"); strings.Count(notes, "which host h-1 was found not to have") != 1 {
				t.Errorf("%s: %v", name, notes)
			}
		}
	}
}

// The journals that earlier versions wrote are as they were.
func TestHonestJournalIsNotRefused(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	w, err := journal.Create(st.Journals(), header("run-1"))
	must(t, err)
	for _, r := range []cell.Result{result(0), unavailable(), fellBack(), failed(cell.Crash)} {
		_, err := w.Append(r)
		must(t, err)
	}
	_, err = w.AppendDetection(start, json.RawMessage(detection))
	must(t, err)
	must(t, w.End())
	must(t, w.Close())
	rows, err := st.Query(t.Context(), "SELECT count(*) AS n FROM results")
	must(t, err)
	if rows.Values[0][0] != int64(4) || len(rows.Notes) > 0 {
		t.Errorf("%v rows, %v", rows.Values[0][0], rows.Notes)
	}
}

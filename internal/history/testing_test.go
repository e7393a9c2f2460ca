package history

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/store"
)

var start = time.Date(2026, 11, 15, 4, 30, 0, 0, time.UTC)

const host = "h-1"

var versions = map[string]string{"assay": "0.1.0", "torch": "2.15.0", "transformers": "5.22.2"}

// newHistory is one over an empty store in a temporary folder.
func newHistory(t testing.TB) *History {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(filepath.Join(dir, "assay.duckdb"), filepath.Join(dir, "journals"))
	must(t, err)
	return In(st)
}

// write makes a finished journal of a run on a host.
func write(t testing.TB, h *History, run, host string, results ...cell.Result) {
	t.Helper()
	w, err := journal.Create(h.store.Journals(), journal.Header{
		Run:  cell.Run{ID: run, StartedAt: start, PlanHash: "0123456789abcdef", Command: "test", Assay: "0.1.0"},
		Host: cell.Host{ID: host, OS: "linux", Arch: "amd64", CPU: "AMD EPYC 9B14", Cores: 2, MemoryBytes: 8 << 30},
	})
	must(t, err)
	for _, r := range results {
		_, err := w.Append(r)
		must(t, err)
	}
	must(t, w.End())
	must(t, w.Close())
}

// result is a cell that works, after this many minutes; change makes it another.
func result(c cell.Cell, minutes int, change ...func(*cell.Result)) cell.Result {
	c = c.Normal()
	s := cell.SettingsOf(c)
	r := cell.Result{
		Cell: c, Asked: c.Hash, SubjectHash: "5ab1ec7", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Functional,
		Requested: s, Actual: &s, Attempts: 1, StartedAt: start.Add(time.Duration(minutes) * time.Minute),
		Context: cell.Context{Versions: versions},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// timed gives a result times with this median.
func timed(ms float64) func(*cell.Result) {
	return func(r *cell.Result) {
		r.Timing = cell.Quick
		r.Latency = &cell.Latency{Repeats: 1, N: 2, MedianMS: ms, MinMS: ms, MaxMS: ms, Stable: true, SamplesMS: [][]float64{{ms, ms}}}
	}
}

// failing makes a result one that fails, for a reason of this class.
func failing(class cell.FailureClass) func(*cell.Result) {
	return func(r *cell.Result) {
		r.Verdict, r.Failure = cell.Fails, &cell.Failure{Class: class, Detail: "killed", Hint: "try a smaller batch"}
	}
}

func noContent(context.Context, cell.Cell) (string, error) { return "", nil }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

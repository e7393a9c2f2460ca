//go:build !cgo

package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/measure"
)

// Indexed says whether this build has DuckDB. Without it the same questions are
// answered from the journals, which are read whole for each, and SQL is not.
const Indexed = false

// Query needs DuckDB.
func (s *Store) Query(context.Context, string, ...any) (*Rows, error) {
	return nil, &MissingError{"asking in SQL"}
}

// Answer needs DuckDB.
func (s *Store) Answer(context.Context, string, Limits) ([]byte, error) {
	return nil, &MissingError{"asking in SQL"}
}

// Export needs DuckDB.
func (s *Store) Export(context.Context, string, Format, string) error {
	return &MissingError{"writing an answer to a file"}
}

// Rebuild needs DuckDB.
func (s *Store) Rebuild(context.Context) (Rebuilt, error) {
	return Rebuilt{}, &MissingError{"rebuilding the database"}
}

// checkOwner cannot look into a DuckDB file; what is written goes beside it.
func (s *Store) checkOwner(context.Context) error { return nil }

// Rows is the answer to a question, which this build never has.
type Rows struct {
	Values [][]any
	Notes  []string
}

// Write prints nothing.
func (r *Rows) Write(io.Writer, string) error { return &MissingError{"printing rows"} }

// Results returns the chosen results, newest first.
func (s *Store) Results(ctx context.Context, f Filter) ([]Stored, error) {
	out, err := s.read(ctx, f)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, newestFirst)
	if f.Limit > 0 && len(out) > f.Limit {
		out = out[:f.Limit]
	}
	for i := range out {
		if f.Medians {
			onlyMedians(&out[i].Result)
		} else {
			thin(&out[i].Result, f.Samples)
		}
	}
	return out, nil
}

func newestFirst(a, b Stored) int {
	return cmp.Or(b.Result.StartedAt.Compare(a.Result.StartedAt), strings.Compare(b.ID, a.ID))
}

// thin leaves out what the database does not keep with a result either.
func thin(r *cell.Result, samples bool) {
	if r.Generation != nil {
		r.Generation.StreamsMS = nil
	}
	if r.Latency != nil && !samples {
		r.Latency.SamplesMS, r.Latency.DeviceSamples = nil, nil
	}
}

// Brief returns the chosen results in no order; see the other build.
func (s *Store) Brief(ctx context.Context, f Filter) ([]cell.Result, error) {
	stored, err := s.read(ctx, f)
	if err != nil {
		return nil, err
	}
	out := make([]cell.Result, len(stored))
	for i := range stored {
		thin(&stored[i].Result, false)
		out[i] = stored[i].Result
	}
	return out, nil
}

// Comparable returns the chosen results in no order, with the median of each
// repeat in place of its samples.
func (s *Store) Comparable(ctx context.Context, f Filter) ([]Stored, error) {
	out, err := s.read(ctx, f)
	if err != nil {
		return nil, err
	}
	for i := range out {
		onlyMedians(&out[i].Result)
	}
	return out, nil
}

// onlyMedians leaves of each repeat's samples the median.
func onlyMedians(r *cell.Result) {
	var medians [][]float64
	if r.Latency != nil {
		for _, m := range measure.Medians(r.Latency.SamplesMS) {
			medians = append(medians, []float64{m})
		}
	}
	thin(r, false)
	if r.Latency != nil {
		r.Latency.SamplesMS = medians
	}
}

// Runs returns the runs, the newest first. Their results are counted, not read.
func (s *Store) Runs(ctx context.Context) ([]RunRow, error) {
	files, err := os.ReadDir(s.journals)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the folder of journals: %w", err)
	}
	var runs []RunRow
	for _, file := range files {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if !isJournal(file) {
			continue
		}
		path := filepath.Join(s.journals, file.Name())
		r, _ := openNamed(path)
		if r == nil {
			continue // who asks for results hears why
		}
		run := rowOf(r.Header())
		if run.Results, err = countResults(path); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b RunRow) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), strings.Compare(b.ID, a.ID))
	})
	return runs, nil
}

// countResults counts the lines that begin as results do.
func countResults(path string) (n int, _ error) {
	text, err := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(`{"kind":"result"`)) {
			n++
		}
	}
	return n, err
}

func rowOf(h journal.Header) RunRow {
	run := RunRow{ID: h.Run.ID, StartedAt: h.Run.StartedAt, Command: h.Run.Command, Name: h.Run.Name, Imported: h.Imported, Host: h.Host}
	run.Host.ID = hostID(h, h.Imported)
	return run
}

// Hosts returns every machine that a run came from, as its newest run saw it.
func (s *Store) Hosts(ctx context.Context) ([]cell.Host, error) {
	runs, err := s.Runs(ctx)
	newest := map[string]cell.Host{}
	for _, r := range slices.Backward(runs) {
		newest[r.Host.ID] = r.Host
	}
	var out []cell.Host
	for _, id := range slices.Sorted(maps.Keys(newest)) {
		out = append(out, newest[id])
	}
	return out, err
}

// mostNotes is how many problems of one journal are told with an answer.
const mostNotes = 3

// read goes through all journals.
func (s *Store) read(ctx context.Context, f Filter) (out []Stored, err error) {
	files, err := os.ReadDir(s.journals)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the folder of journals: %w", err)
	}
	for _, file := range files {
		if !isJournal(file) || len(f.Runs) > 0 && !slices.Contains(f.Runs, strings.TrimSuffix(file.Name(), journal.Extension)) {
			continue
		}
		run, results, problems, err := readJournal(ctx, filepath.Join(s.journals, file.Name()))
		if err != nil {
			return nil, err
		}
		for _, p := range problems[:min(len(problems), mostNotes)] {
			s.tell([]string{"skipped: " + p.Error()})
		}
		if run == nil {
			continue
		}
		for _, x := range results {
			if f.chooses(x, run.Name) {
				out = append(out, x)
			}
		}
	}
	return out, nil
}

// openNamed opens a journal. What is none is a problem, and one that is only empty so
// far is nothing at all.
func openNamed(path string) (*journal.Reader, []journal.Problem) {
	r, err := journal.Open(path)
	if err != nil {
		r, err = journal.Salvage(path, err)
	}
	if errors.Is(err, journal.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, []journal.Problem{{Path: path, Err: errors.New(strings.ReplaceAll(err.Error(), path, "it"))}}
	}
	if want := journal.Path("", r.Header().Run.ID); want != filepath.Base(path) {
		err := fmt.Errorf("the file is not named after its run, %s: import it with assay import", want)
		return nil, []journal.Problem{{Path: path, Err: errors.Join(err, r.Close())}}
	}
	return r, nil
}

// readJournal is the run in a file and its results.
func readJournal(ctx context.Context, path string) (*RunRow, []Stored, []journal.Problem, error) {
	r, problems := openNamed(path)
	if r == nil {
		return nil, nil, problems, nil
	}
	defer r.Close()
	run := rowOf(r.Header())
	results, problems, err := readLines(ctx, r, path)
	return &run, results, problems, err
}

// readLines are the results that are told once and that the run's own detection
// does not contradict.
func readLines(ctx context.Context, r *journal.Reader, path string) (out []Stored, problems []journal.Problem, err error) {
	h, claims, seen := r.Header(), journal.NewClaims(r.Header().Host.ID), map[string]bool{}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, nil, err
		}
		if seen[line.ID] {
			problems = append(problems, journal.Problem{Path: path, Line: line.Number, Err: fmt.Errorf("the id %s occurs twice", line.ID)})
			continue
		}
		seen[line.ID] = true
		claims.Add(line)
		if line.Kind == journal.KindResult {
			out = append(out, Stored{ID: line.ID, RunID: h.Run.ID, HostID: hostID(h, line.Imported), Imported: line.Imported, Result: *line.Result})
		}
	}
	told := r.Problems()
	if r.Torn() {
		told = told[:len(told)-1]
	}
	problems = append(problems, told...)
	refused := map[string]bool{}
	for _, x := range claims.Refused() {
		refused[x.ID] = true
		problems = append(problems, journal.Problem{Path: path, Line: x.Number, Err: x.Err})
	}
	return slices.DeleteFunc(out, func(x Stored) bool { return refused[x.ID] }), problems, nil
}

// chooses is Filter.where of the other build.
func (f Filter) chooses(x Stored, runName string) bool {
	r, c := &x.Result, x.Result.Cell.Normal()
	for _, l := range []struct {
		value  string
		values []string
	}{
		{x.ID, f.IDs}, {x.RunID, f.Runs}, {runName, f.Names}, {x.HostID, f.Hosts}, {c.Type, f.Types}, {c.Model(), f.Models}, {c.Family, f.Families},
		{string(c.Platform), f.Platforms}, {c.Target, f.Targets}, {r.Side, f.Sides}, {c.Size, f.Sizes}, {cmp.Or(r.AskedHash(), c.Hash), f.Cells},
	} {
		if len(l.values) > 0 && (l.value == "" || !slices.Contains(l.values, l.value)) {
			return false
		}
	}
	for name, version := range f.Versions {
		if r.Context.Versions[name] != version {
			return false
		}
	}
	return among(r.Verdict, f.Verdicts) && among(r.Evidence, f.Evidence) && among(r.Timing, f.Timings) &&
		(f.Since.IsZero() || !r.StartedAt.Before(f.Since)) && (f.Before.IsZero() || !r.StartedAt.IsZero() && r.StartedAt.Before(f.Before))
}

func among[T comparable](value T, values []T) bool {
	return len(values) == 0 || slices.Contains(values, value)
}

// Package baseline keeps results under a name, to compare later ones with: one
// journal for each baseline, in a folder of their own beside the journals of runs.
//
// A baseline is a copy. The runs that it was made of may be lost, and the file may
// be kept in a repository and used on another machine of the same kind. It holds
// what a comparison needs and no more: of each repeat the median, of a failure no
// log. All of it comes from one machine, which its header names by facts that a
// reboot, a new kernel or a container does not change.
package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/journal"
	"assay/internal/measure"
	"assay/internal/wholefile"
)

// Folder is where the baselines are.
type Folder struct{ Dir string }

// Baseline is one of them, in short.
type Baseline struct {
	Name  string    `json:"name"`
	Path  string    `json:"path"`
	Made  time.Time `json:"made_at"`
	Cells int       `json:"cells"`
	Timed int       `json:"timed"`
	Host  cell.Host `json:"host"`
}

// MissingError says that there is no such baseline.
type MissingError struct {
	Name  string
	Known []string
}

func (e *MissingError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no baseline %q: none was set yet (assay baseline set %s)", e.Name, e.Name)
	}
	return fmt.Sprintf("there is no baseline %q: there are %s", e.Name, strings.Join(e.Known, ", "))
}

// RefusedError says why something cannot become a baseline.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

func (f Folder) path(name string) string { return filepath.Join(f.Dir, name+journal.Extension) }

// Has reports whether there is a baseline of that name.
func (f Folder) Has(name string) bool {
	if cell.CheckName(name) != nil {
		return false
	}
	_, err := os.Stat(f.path(name))
	return err == nil
}

// Set keeps a side's newest result of each cell under a name, in place of what was
// kept under it before.
func (f Folder) Set(name string, side compare.Side, now time.Time, assay string) (Baseline, error) {
	if err := cell.CheckNewName(name); err != nil {
		return Baseline{}, &RefusedError{err.Error()}
	}
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return Baseline{}, fmt.Errorf("make the folder of baselines: %w", err)
	}
	if err := Write(f.path(name), name, side, now, assay); err != nil {
		return Baseline{}, err
	}
	return f.describe(name)
}

// Write makes a baseline's file, in place of one that is there.
func Write(path, name string, side compare.Side, now time.Time, assay string) error {
	entries := side.Newest()
	if len(entries) == 0 {
		return refuse("%s holds no results of models: there is nothing to keep", side.Name)
	}
	host := entries[0].Host
	for _, e := range entries {
		if e.Host.MachineKey() != host.MachineKey() {
			return refuse("%s holds results of several machines (%s and %s), and a baseline is of one: name a run or a host", side.Name, host.ID, e.Host.ID)
		}
	}
	host.ID = strings.TrimPrefix(host.ID, "imported:")
	run := cell.Run{ID: journal.NewRunID(now), StartedAt: now.UTC().Truncate(time.Second), Command: "baseline", Name: name, Assay: assay}
	return wholefile.Make(path, wholefile.Options{Mode: 0o644}, func(temp string) error {
		if err := os.Remove(temp); err != nil { // a journal is made where nothing is
			return err
		}
		return write(temp, journal.Header{Schema: journal.Schema, Run: run, Host: host}, entries)
	})
}

func write(path string, h journal.Header, entries []compare.Entry) error {
	w, err := journal.CreateFile(path, h)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := w.Append(lean(*e.Result)); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return errors.Join(w.End(), w.Close())
}

// lean is a result with the medians of its repeats in place of all samples, and
// without what no comparison reads.
func lean(r cell.Result) cell.Result {
	if r.Latency != nil {
		l := *r.Latency
		l.DeviceSamples, l.SamplesMS = nil, nil
		for _, m := range measure.Medians(r.Latency.SamplesMS) {
			l.SamplesMS = append(l.SamplesMS, []float64{m})
		}
		r.Latency = &l
	}
	if r.Failure != nil {
		failure := *r.Failure
		failure.Log = ""
		r.Failure = &failure
	}
	if r.Placement != nil {
		placement := *r.Placement
		placement.Counters = nil
		r.Placement = &placement
	}
	r.Laws, r.Fingerprint, r.Changed = nil, nil, nil
	return r
}

// Read is a baseline as a side of a comparison.
func (f Folder) Read(ctx context.Context, name string) (compare.Side, error) {
	if !f.Has(name) {
		known, err := f.names()
		return compare.Side{}, cmp.Or(err, error(&MissingError{name, known}))
	}
	return ReadFile(ctx, f.path(name), name, "baseline")
}

// ReadFile is a journal, or what test and bench print as JSON, as a side.
func ReadFile(ctx context.Context, path, name, kind string) (compare.Side, error) {
	whole, err := journal.ReadAll(ctx, path)
	if err != nil {
		return compare.Side{}, err
	}
	side := compare.Side{Name: name, Kind: kind}
	if n := len(whole.Problems); n > 0 {
		side.Notes = append(side.Notes, fmt.Sprintf("%d of the lines of %s cannot be used; the first: %v", n, name, whole.Problems[0]))
	}
	for _, l := range whole.Lines {
		if l.Kind == journal.KindResult {
			side.Entries = append(side.Entries, compare.Entry{Result: l.Result, Run: whole.Header.Run.ID, Host: whole.Header.Host, Imported: l.Imported})
		}
	}
	return side, nil
}

// List are all baselines, by name.
func (f Folder) List() ([]Baseline, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	out := []Baseline{}
	for _, n := range names {
		b, err := f.describe(n)
		if err != nil {
			return out, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (f Folder) names() ([]string, error) {
	files, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), journal.Extension); ok && cell.CheckName(name) == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, err
}

func (f Folder) describe(name string) (Baseline, error) {
	whole, err := journal.ReadAll(context.Background(), f.path(name))
	b := Baseline{Name: name, Path: f.path(name), Made: whole.Header.Run.StartedAt, Host: whole.Header.Host}
	for _, l := range whole.Lines {
		if l.Kind == journal.KindResult {
			b.Cells++
			if l.Result.Latency != nil {
				b.Timed++
			}
		}
	}
	return b, err
}

// Remove forgets a baseline.
func (f Folder) Remove(name string) error {
	if !f.Has(name) {
		known, err := f.names()
		return cmp.Or(err, error(&MissingError{name, known}))
	}
	return os.Remove(f.path(name))
}

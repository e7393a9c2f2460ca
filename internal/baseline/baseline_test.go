package baseline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 18, 3, 0, 0, 123, time.UTC)

var xeon = cell.Host{ID: "h1", CPU: "Xeon", Machine: &cell.Machine{System: "linux/amd64", CPU: "Xeon", CPUs: 4, MemoryGiB: 16}}

// entry is a timed result of a model, this many minutes later.
func entry(host cell.Host, model string, minutes int, ms ...float64) compare.Entry {
	c := cell.Cell{Type: model}.Normal()
	r := &cell.Result{
		Cell: c, SubjectHash: "s1", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick, Requested: cell.SettingsOf(c),
		StartedAt: now.Add(time.Duration(minutes) * time.Minute), Placement: &cell.Placement{Device: "cpu"},
		Failure: &cell.Failure{Class: cell.Crash, Log: "a long log"},
	}
	if len(ms) > 0 {
		r.Latency = &cell.Latency{SamplesMS: [][]float64{ms, ms}, DeviceSamples: [][]float64{ms, ms}}
	}
	return compare.Entry{Result: r, Run: "run-1", Host: host}
}

func side(entries ...compare.Entry) compare.Side {
	return compare.Side{Name: "nightly", Kind: "name", Entries: entries}
}

// TestSet: of each cell the newest result is kept, with medians in place of samples and
// without logs; what it was made of stays as it was.
func TestSet(t *testing.T) {
	t.Parallel()
	f := Folder{filepath.Join(t.TempDir(), "baselines")}
	if list, err := f.List(); err != nil || len(list) != 0 {
		t.Errorf("before any was set: %v, %v", list, err)
	}
	newest := entry(xeon, "bert", 5, 9, 1, 2)
	b, err := f.Set("main", side(entry(xeon, "bert", 0, 7), newest, entry(xeon, "vit", 1)), now, "1.0")
	if err != nil {
		t.Fatal(err)
	}
	want := Baseline{Name: "main", Path: f.path("main"), Made: now.Truncate(time.Second), Cells: 2, Timed: 1, Host: xeon}
	if d := cmp.Diff(want, b); d != "" {
		t.Error(d)
	}
	kept, err := f.Read(t.Context(), "main")
	if err != nil || len(kept.Entries) != 2 || kept.Kind != "baseline" {
		t.Fatalf("%v: %+v", err, kept)
	}
	for _, e := range kept.Entries {
		if e.Result.Failure.Log != "" {
			t.Errorf("the log of %s is kept", e.Result.Cell.Type)
		}
		if e.Result.Cell.Type == "bert" {
			if d := cmp.Diff([][]float64{{2}, {2}}, e.Result.Latency.SamplesMS); d != "" || e.Result.Latency.DeviceSamples != nil {
				t.Errorf("samples: %s", d)
			}
		}
	}
	if len(newest.Result.Latency.SamplesMS[0]) != 3 || newest.Result.Failure.Log == "" {
		t.Error("keeping a result changed it")
	}
	// Set again it is in the place of the first.
	if b, err = f.Set("main", side(entry(xeon, "t5", 0, 1)), now.Add(time.Hour), "1.0"); err != nil || b.Cells != 1 {
		t.Errorf("set again: %v, %+v", err, b)
	}
}

// TestSetRefuses: names that are paths, nothing at all, and several machines; what was
// kept before stays.
func TestSetRefuses(t *testing.T) {
	t.Parallel()
	f := Folder{t.TempDir()}
	if _, err := f.Set("main", side(entry(xeon, "bert", 0, 1)), now, "1.0"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(f.path("main"))
	if err != nil {
		t.Fatal(err)
	}
	other := xeon
	other.Machine = &cell.Machine{System: "linux/amd64", CPU: "EPYC", CPUs: 64, MemoryGiB: 256}
	for want, try := range map[string]func() error{
		"cannot be a name":   func() error { _, err := f.Set("../main", side(entry(xeon, "bert", 0, 1)), now, "1.0"); return err },
		"the word for a run": func() error { _, err := f.Set("latest", side(entry(xeon, "bert", 0, 1)), now, "1.0"); return err },
		"nothing to keep":    func() error { _, err := f.Set("main", side(), now, "1.0"); return err },
		"results of several machines": func() error {
			_, err := f.Set("main", side(entry(xeon, "bert", 0, 1), entry(other, "vit", 0, 1)), now, "1.0")
			return err
		},
	} {
		refused := (*RefusedError)(nil)
		if err := try(); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if after, err := os.ReadFile(f.path("main")); err != nil || string(after) != string(before) {
		t.Errorf("what was kept changed: %v", err)
	}
	// The same machine after a reboot, with another id: one machine.
	again := xeon
	again.ID = "h2"
	if _, err := f.Set("both", side(entry(xeon, "bert", 0, 1), entry(again, "vit", 0, 1)), now, "1.0"); err != nil {
		t.Error(err)
	}
}

// TestMissing: what is not there is named, with what is.
func TestMissing(t *testing.T) {
	t.Parallel()
	f := Folder{t.TempDir()}
	missing := (*MissingError)(nil)
	if _, err := f.Read(t.Context(), "main"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "none was set yet") {
		t.Error(err)
	}
	for _, name := range []string{"b", "a"} {
		if _, err := f.Set(name, side(entry(xeon, "bert", 0, 1)), now, "1.0"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Remove("c"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "there are a, b") {
		t.Error(err)
	}
	if f.Has("../a") || !f.Has("a") {
		t.Error("Has goes by paths")
	}
	if err := errors.Join(f.Remove("a"), os.WriteFile(f.path("torn"), []byte("garbage\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if list, err := f.List(); err == nil || len(list) != 1 || list[0].Name != "b" {
		t.Errorf("a damaged one: %v, %v", list, err)
	}
}

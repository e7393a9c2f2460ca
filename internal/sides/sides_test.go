package sides

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/baseline"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/history"
	"assay/internal/journal"
	"assay/internal/store"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// run is one that the store of a test holds.
type run struct {
	id, name, host, torch string
	at                    time.Time
	cells                 []cell.Cell
	sides                 []string
}

// finder is one over these runs, in folders of its own.
func finder(t *testing.T, runs ...run) Finder {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(filepath.Join(dir, "assay.duckdb"), filepath.Join(dir, "journals"))
	must(t, err)
	for _, r := range runs {
		w, err := journal.Create(st.Journals(), journal.Header{Run: cell.Run{ID: r.id, StartedAt: r.at, Command: "bench", Name: r.name}, Host: cell.Host{ID: r.host}})
		must(t, err)
		for i, c := range r.cells {
			result := cell.Result{Cell: c.Normal(), Verdict: cell.Works, Evidence: cell.Measured, Requested: cell.SettingsOf(c.Normal()), StartedAt: r.at,
				Context: cell.Context{Versions: map[string]string{"torch": r.torch}}}
			if i < len(r.sides) {
				result.Side = r.sides[i]
			}
			_, err := w.Append(result)
			must(t, err)
		}
		must(t, errors.Join(w.End(), w.Close()))
	}
	return Finder{Past: history.In(st), Baselines: baseline.Folder{Dir: filepath.Join(dir, "baselines")}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func on(target string, models ...string) (out []cell.Cell) {
	for _, m := range models {
		out = append(out, cell.Cell{Type: m, Target: target})
	}
	return out
}

func several(t *testing.T) Finder {
	t.Helper()
	return finder(t,
		run{id: "20261115T120000Z-aaaaaa", name: "nightly", host: "feed0001", torch: "2.14.0", at: noon, cells: on("cpu", "bert")},
		run{id: "20261116T120000Z-bbbbbb", name: "nightly", host: "feed0001", torch: "2.15.0", at: noon.AddDate(0, 0, 1), cells: on("cpu", "bert", "vit")},
		run{id: "20261116T130000Z-cccccc", host: "beef0002", torch: "2.15.0", at: noon.AddDate(0, 0, 1).Add(time.Hour), cells: on("openvino", "bert", "bert"), sides: []string{"a", "b"}},
		run{id: "20261117T120000Z-dddddd", host: "beef0003", torch: "2.15.0", at: noon.AddDate(0, 0, 2)},
	)
}

// TestFind: what each word means, and how many results that is.
func TestFind(t *testing.T) {
	t.Parallel()
	f := several(t)
	for word, want := range map[string]struct {
		kind, name string
		results    int
	}{
		"nightly":                   {"name", "nightly", 3},
		"name:nightly":              {"name", "nightly", 3},
		"latest":                    {"run", "20261116T130000Z-cccccc", 2}, // the newest is empty
		"previous":                  {"run", "20261116T120000Z-bbbbbb", 2},
		"20261115":                  {"run", "20261115T120000Z-aaaaaa", 1},
		"run:20261116T13":           {"run", "20261116T130000Z-cccccc", 2},
		"20261116T130000Z-cccccc#a": {"run", "20261116T130000Z-cccccc#a", 1},
		"cpu":                       {"target", "cpu", 3},
		"target:openvino":           {"target", "openvino", 2},
		"feed0001":                  {"host", "feed0001", 3},
		"feed":                      {"host", "feed0001", 3},
		"torch=2.14.0":              {"version", "torch=2.14.0", 1},
		"version:torch=2.15.0":      {"version", "torch=2.15.0", 4},
		"2026-11-16":                {"date", "2026-11-16", 4},
		"date:2026-11-15":           {"date", "2026-11-15", 1},
	} {
		side, err := f.Find(t.Context(), word)
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		if side.Kind != want.kind || side.Name != want.name || len(side.Entries) != want.results {
			t.Errorf("%s is the %s %s with %d results, want %+v", word, side.Kind, side.Name, len(side.Entries), want)
		}
	}
}

// TestPrecedence: a word that is several things is the first of the table, whatever
// else it is; a prefix decides.
func TestPrecedence(t *testing.T) {
	word := "cpu" // of all things
	f := finder(t, run{id: "20261115T120000Z-aaaaaa", name: word, host: "feed0001", at: noon, cells: on("cpu", "bert")})
	t.Chdir(t.TempDir())
	side, err := f.Find(t.Context(), "latest")
	must(t, err)
	must(t, baseline.Write(word, "x", side, noon, "1.0"))
	_, err = f.Baselines.Set(word, side, noon, "1.0")
	must(t, err)
	var got []string
	next := func() {
		t.Helper()
		side, err := f.Find(t.Context(), word)
		must(t, err)
		got = append(got, side.Kind)
	}
	next()
	must(t, f.Baselines.Remove(word))
	next()
	f.Past = finder(t, run{id: "20261115T120000Z-aaaaaa", host: "feed0001", at: noon, cells: on("cpu", "bert")}).Past
	next()
	side, err = f.Find(t.Context(), "target:"+word)
	must(t, err)
	got = append(got, "prefixed "+side.Kind)
	must(t, os.Remove(word))
	next()
	if d := cmp.Diff([]string{"baseline", "name", "file", "prefixed target", "target"}, got); d != "" {
		t.Error(d)
	}
}

// TestNoFiles: a file's name is no side where files are not read, with a prefix neither.
func TestNoFiles(t *testing.T) {
	f := finder(t, run{id: "20261115T120000Z-aaaaaa", host: "feed0001", at: noon, cells: on("cpu", "bert")})
	t.Chdir(t.TempDir())
	side, err := f.Find(t.Context(), "latest")
	must(t, err)
	must(t, baseline.Write("mine.jsonl", "x", side, noon, "1.0"))
	if side, err := f.Find(t.Context(), "mine.jsonl"); err != nil || side.Kind != "file" {
		t.Fatalf("%+v, %v", side, err)
	}
	f.NoFiles = true
	for _, word := range []string{"mine.jsonl", "file:mine.jsonl"} {
		if side, err := f.Find(t.Context(), word); err == nil {
			t.Errorf("%s is the %s %s", word, side.Kind, side.Name)
		}
	}
}

// TestWrong: what a word that means nothing, too much or no results is told: the first two
// are wrong usage, the last is nothing to compare.
func TestWrong(t *testing.T) {
	t.Parallel()
	f := several(t)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("nothing of ours"), 0o600))
	for word, want := range map[string]string{
		"nosuch":                        "is neither a baseline, a name",
		"":                              "is neither a baseline, a name",
		"baseline:nosuch":               `there is no baseline "nosuch"`,
		"run:nosuch":                    `there is no run "nosuch"`,
		"2026111":                       "is neither a baseline", // shorter than a day
		"20261116":                      "begins the ids of 2 runs",
		"beef":                          "is the beginning of several hosts: beef0002, beef0003",
		"file:" + dir:                   "there is no file",
		filepath.Join(dir, "notes.txt"): "notes.txt",
		"target:nosuch":                 `there is no target "nosuch"`,
		"version:torch":                 `there is no version "torch"`,
		"date:2026-13-01":               "is not a date",
	} {
		_, err := f.Find(t.Context(), word)
		if mistake := (*Error)(nil); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", word, err, want)
		}
	}
	f.Since = noon.AddDate(0, 0, 5)
	for word, want := range map[string]string{
		"target:cuda": "there are no results of the target cuda since 2026-11-20", "torch=1.0": "no results of the version torch=1.0", "nightly": "since 2026-11-20",
	} {
		_, err := f.Find(t.Context(), word)
		if empty := (*EmptyError)(nil); !errors.As(err, &empty) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", word, err, want)
		}
	}
}

// TestSince: older results are left out of every stored side; a moment divides all.
func TestSince(t *testing.T) {
	t.Parallel()
	f := several(t)
	before, since, err := f.Around(t.Context(), "2026-11-16T12:30")
	if err != nil || len(before.Entries) != 3 || len(since.Entries) != 2 {
		t.Errorf("%v: %d and %d", err, len(before.Entries), len(since.Entries))
	}
	if _, _, err := f.Around(t.Context(), "yesterday"); err == nil {
		t.Error("yesterday is taken for a date")
	}
	f.Since = noon.AddDate(0, 0, 1)
	if side, err := f.Find(t.Context(), "nightly"); err != nil || len(side.Entries) != 2 {
		t.Errorf("%v: %d results", err, len(side.Entries))
	}
}

func TestImplied(t *testing.T) {
	t.Parallel()
	kind := func(k string) compare.Side { return compare.Side{Kind: k} }
	for want, got := range map[string][]string{
		"target": Implied(kind("target"), kind("target")), "host driver": Implied(kind("host"), kind("host")), "": Implied(kind("target"), kind("host")),
	} {
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	for _, k := range kinds() {
		if !strings.Contains(Help(), k.name+":") {
			t.Errorf("the help lacks %s", k.name)
		}
	}
}

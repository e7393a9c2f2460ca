package gist

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 11, 15, 4, 30, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func result(name string, minutes int) cell.Result {
	c := cell.Cell{Type: name}.Normal()
	return cell.Result{Cell: c, Verdict: cell.Fails, Evidence: cell.Measured, Timing: cell.Functional, StartedAt: start.Add(time.Duration(minutes) * time.Minute),
		Failure: &cell.Failure{Class: cell.Crash, Detail: "it died", Log: strings.Repeat("log ", 500)}, Context: cell.Context{Versions: map[string]string{"torch": "2.15.0"}}}
}

func begin(t testing.TB, dir, run string) *journal.Writer {
	t.Helper()
	w, err := journal.Create(dir, journal.Header{Run: cell.Run{ID: run, StartedAt: start}, Host: cell.Host{ID: "h-1", CPU: "a CPU"}})
	must(t, err)
	return w
}

// write makes a journal of a run with these results.
func write(t testing.TB, dir, run string, results ...cell.Result) {
	t.Helper()
	w := begin(t, dir, run)
	for _, r := range results {
		_, err := w.Append(r)
		must(t, err)
	}
	must(t, w.End())
	must(t, w.Close())
}

// ask says which results a gist that is opened now has of these types.
func ask(t testing.TB, dir string, types ...string) (said []string) {
	t.Helper()
	g, err := Open(dir)
	must(t, err)
	defer g.Close()
	results, err := g.Of(types...)
	must(t, err)
	for _, r := range results {
		said = append(said, r.Run+" "+r.Result.Cell.Type+" "+r.Result.StartedAt.Format("04"))
		if r.Host.ID != "h-1" || r.Result.Failure.Detail != "it died" || r.Result.Failure.Log != "" || r.Result.Context.Versions["torch"] == "" {
			t.Errorf("%+v", r)
		}
	}
	return said
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s", diff)
	}
}

// many writes so many results that an index is worth while.
func many(t testing.TB, dir, run string) {
	t.Helper()
	var all []cell.Result
	for i := range 200 {
		all = append(all, result([]string{"vit", "t5"}[i%2], i%2))
	}
	write(t, dir, run, all...)
}

// What is asked is answered alike with an index, without one, and while journals
// grow, are replaced and go.
func TestFollowsJournals(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journals")
	same(t, ask(t, dir, "bert"))
	write(t, dir, "a", result("bert", 31))
	same(t, ask(t, dir, "bert"), "a bert 01")
	many(t, dir, "b")
	same(t, ask(t, dir, "bert"), "a bert 01")
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		t.Fatalf("no index: %v", err)
	}
	if got := ask(t, dir, "vit"); len(got) != 100 {
		t.Errorf("%d of 100", len(got))
	}
	w := begin(t, dir, "c")
	for i := range 3 {
		_, err := w.Append(result("bert", i))
		must(t, err)
		if got := ask(t, dir, "bert"); len(got) != 2+i {
			t.Errorf("a run under way: %v", got)
		}
	}
	must(t, w.Close())
	must(t, os.Remove(journal.Path(dir, "a")))
	same(t, ask(t, dir, "bert"), "c bert 30", "c bert 31", "c bert 32")
	must(t, os.Remove(journal.Path(dir, "b")))
	same(t, ask(t, dir, "vit"))
	must(t, os.Remove(journal.Path(dir, "c")))
	write(t, dir, "c", result("bert", 9))
	same(t, ask(t, dir, "bert"), "c bert 39")
}

// A folder that cannot be written answers the same.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journals")
	many(t, dir, "b")
	must(t, os.MkdirAll(filepath.Join(dir, fileName, "in the way"), 0o755))
	if got := ask(t, dir, "vit"); len(got) != 100 {
		t.Errorf("%d of 100", len(got))
	}
}

// Whatever happened to the index, it changes no answer.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journals")
	many(t, dir, "b")
	ask(t, dir, "vit")
	path := filepath.Join(dir, fileName)
	good, err := os.ReadFile(path)
	must(t, err)
	damage := map[string][]byte{"empty": nil, "half": good[:len(good)/2], "no line": []byte("{}"), "other schema": []byte(strings.Replace(string(good), `"schema":1`, `"schema":9`, 1)),
		"a block": []byte(strings.Replace(string(good), `"file":"b.jsonl","result"`, `"file":"b.jsonl";"result"`, 1)),
		"result":  []byte(strings.ReplaceAll(string(good), `"verdict":"fails"`, `"verdict":[12345]`))}
	for name, bytes := range damage {
		must(t, os.WriteFile(path, bytes, 0o600))
		for _, kind := range []string{"t5", "vit"} {
			if got := ask(t, dir, kind); len(got) != 100 {
				t.Errorf("%s: %d of 100 %s", name, len(got), kind)
			}
		}
	}
}

// Broken, half and empty journals make no result, and are told.
func TestBrokenJournals(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journals")
	write(t, dir, "a", result("bert", 1), result("bert", 2))
	good, err := os.ReadFile(journal.Path(dir, "a"))
	must(t, err)
	lines := strings.SplitAfter(string(good), "\n")
	put := func(name, text string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	put("a.jsonl", lines[0]+strings.Replace(lines[1], `"verdict":"fails"`, `"verdict":"splendid"`, 1)+lines[2][:len(lines[2])/2])
	put("empty.jsonl", "")
	put("foreign.jsonl", "this is something else\n")
	put("half.jsonl", lines[0][:20])
	same(t, ask(t, dir, "bert"))
	g, err := Open(dir)
	must(t, err)
	if p := g.Problems(); len(p) != 2 || !strings.Contains(p[0], "splendid") || !strings.Contains(p[1], "foreign.jsonl") {
		t.Errorf("%q", p)
	}
}

// The newest detection of this machine tells its devices' memory.
func TestMachine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journals")
	w := begin(t, dir, "a")
	for i, text := range []string{`{"host":{"memory_bytes":64},"platforms":[{"platform":"cuda","devices":[{"id":"0","name":"a GPU","memory_bytes":24}]}]}`, `{"host":{"memory_bytes":32}}`} {
		_, err := w.AppendDetection(start.Add(-time.Duration(i)*time.Hour), []byte(text))
		must(t, err)
	}
	must(t, w.Close())
	g, err := Open(dir)
	must(t, err)
	m := g.Machine()
	if m == nil || m.MemoryBytes != 64 || len(m.Devices) != 1 || m.Devices[0].Platform != "cuda" || *m.Devices[0].MemoryBytes != 24 {
		t.Errorf("%+v", m)
	}
}

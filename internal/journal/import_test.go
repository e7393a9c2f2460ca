package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
)

func report(t *testing.T, id string, results ...cell.Result) string {
	t.Helper()
	h := header(id)
	b, err := json.MarshalIndent(cell.Report{Schema: 1, Run: h.Run, Host: h.Host, Results: results}, "", "  ")
	must(t, err)
	return put(t, t.TempDir(), "report.json", b)
}

func imported(t *testing.T, src, dir string, fresh, known int) {
	t.Helper()
	got, err := Import(t.Context(), src, dir, Here{})
	must(t, err)
	if got.New != fresh || got.Known != known || got.Path != Path(dir, got.RunID) {
		t.Errorf("imported %d new, %d known, want %d and %d (%s)", got.New, got.Known, fresh, known, got.Path)
	}
}

// unmarked is a journal without the marks that importing makes.
func unmarked(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`,"imported":true`), nil) }

func TestImportTwice(t *testing.T) {
	t.Parallel()
	src, dir := write(t, t.TempDir(), "run-1", 3), t.TempDir()
	imported(t, src, dir, 4, 0)
	first := bytesOf(t, Path(dir, "run-1"))
	imported(t, src, dir, 0, 4)
	imported(t, Path(dir, "run-1"), dir, 0, 4)
	if !bytes.Equal(first, bytesOf(t, Path(dir, "run-1"))) || !bytes.Equal(unmarked(first), bytesOf(t, src)) {
		t.Error("importing changed the journal")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestImportExtends(t *testing.T) {
	t.Parallel()
	far, dir := t.TempDir(), t.TempDir()
	w, err := Create(far, header("run-1"))
	must(t, err)
	_, err = w.Append(result(0))
	must(t, err)
	imported(t, w.Path(), dir, 1, 0)
	_, err = w.Append(result(1))
	must(t, err)
	must(t, w.End())
	must(t, w.Close())
	imported(t, w.Path(), dir, 1, 1)
	if !bytes.Equal(bytesOf(t, w.Path()), unmarked(bytesOf(t, Path(dir, "run-1")))) {
		t.Error("the extended journal is not the same as the imported one")
	}
}

func TestImportWhileItIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Create(dir, header("run-1"))
	must(t, err)
	defer w.Close()
	_, err = w.Append(result(0))
	must(t, err)
	imported(t, w.Path(), dir, 0, 1)
}

func TestImportOfATornJournal(t *testing.T) {
	t.Parallel()
	b := bytesOf(t, write(t, t.TempDir(), "run-1", 3))
	src, dir := put(t, t.TempDir(), "out.jsonl", b[:len(b)-60]), t.TempDir()
	got, err := Import(t.Context(), src, dir, Here{})
	must(t, err)
	if got.New != 3 || len(got.Problems) != 1 {
		t.Errorf("%+v", got)
	}
	if _, problems := read(t, got.Path); len(problems) != 0 {
		t.Errorf("the torn line came along: %v", problems)
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	imported(t, write(t, t.TempDir(), "run-1", 2), dir, 3, 0)
	before := bytesOf(t, Path(dir, "run-1"))

	other := bytesOf(t, Path(dir, "run-1"))
	otherResult := put(t, t.TempDir(), "a.jsonl", bytes.Replace(other, []byte(`"median_ms":1.5`), []byte(`"median_ms":9.5`), 1))
	otherHost := put(t, t.TempDir(), "b.jsonl", bytes.Replace(other, []byte("h-1"), []byte("h-2"), 1))
	for _, src := range []string{otherResult, otherHost} {
		conflict := (*ConflictError)(nil)
		if _, err := Import(t.Context(), src, dir, Here{}); !errors.As(err, &conflict) {
			t.Errorf("%s: %v", src, err)
		}
	}
	if !bytes.Equal(before, bytesOf(t, Path(dir, "run-1"))) {
		t.Error("a conflict changed the journal")
	}
}

func TestImportOfAReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := report(t, "run-1", result(0), result(1))
	imported(t, src, dir, 2, 0)
	first := bytesOf(t, Path(dir, "run-1"))
	imported(t, src, dir, 0, 2)
	imported(t, report(t, "run-1", result(1), result(2)), dir, 1, 1)
	if !bytes.HasPrefix(bytesOf(t, Path(dir, "run-1")), first) {
		t.Error("the journal was not only appended to")
	}
	lines, problems := read(t, Path(dir, "run-1"))
	if len(problems) != 0 || len(lines) != 4 {
		t.Fatalf("%v %v", ids(lines), problems)
	}
	if d := cmp.Diff(result(0), *lines[0].Result); d != "" {
		t.Error(d)
	}
}

// A run's own report says nothing that its journal does not, whichever of the
// two comes first.
func TestReportAndJournalOfOneRun(t *testing.T) {
	t.Parallel()
	src := write(t, t.TempDir(), "run-1", 2)
	own := report(t, "run-1", result(1), result(0))
	dir := t.TempDir()
	imported(t, src, dir, 3, 0)
	imported(t, own, dir, 0, 2)
	dir = t.TempDir()
	imported(t, own, dir, 2, 0)
	imported(t, src, dir, 1, 2) // the detection is new
	imported(t, src, dir, 0, 3)
}

func TestImportOfOtherFiles(t *testing.T) {
	t.Parallel()
	foreign, newer := (*ForeignError)(nil), (*NewerError)(nil)
	for text, as := range map[string]any{
		"hello":                  &foreign,
		`{"schema":1,"rows":[]}`: &foreign,
		`{"schema":1,"run":{"id":"../x"},"host":{},"results":[]}`: &foreign,
		`{"schema":7,"run":5,"results":[]}`:                       &newer,
		`[1,2,3]`:                                                 &foreign,
	} {
		dir := t.TempDir()
		if _, err := Import(t.Context(), put(t, dir, "x.json", []byte(text)), filepath.Join(dir, "j"), Here{}); !errors.As(err, as) {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "j")); err == nil {
			t.Errorf("%s: the folder was made for nothing", text)
		}
	}
	if _, err := Import(t.Context(), filepath.Join(t.TempDir(), "none"), t.TempDir(), Here{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(`{"schema":1,"run":{"id":"r"},"host":{},"results":[{"cell":{"type":"bert"}},{}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseReport("x", b)
		if err == nil && checkRunID(s.header.Run.ID) != nil {
			t.Errorf("took run id %q", s.header.Run.ID)
		}
	})
}

// What no Assay would have written is not taken, from a journal or from a
// report; the lines beside it are.
func TestImportRefusesStrangeWords(t *testing.T) {
	t.Parallel()
	bad := result(1)
	bad.Verdict = `"/><script>alert(1)</script>`
	dir, far := t.TempDir(), t.TempDir()
	w, err := Create(far, header("run-1"))
	must(t, err)
	for _, r := range []cell.Result{result(0), bad, result(2)} {
		_, err := w.Append(r)
		must(t, err)
	}
	must(t, w.Close())
	for _, src := range []string{w.Path(), report(t, "run-2", result(0), bad, result(2))} {
		got, err := Import(t.Context(), src, dir, Here{})
		must(t, err)
		if got.New != 2 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Error(), "unknown verdict") {
			t.Errorf("%d new lines, problems %v: want two lines and the verdict named", got.New, got.Problems)
		}
		if bytes.Contains(bytesOf(t, got.Path), []byte("script")) {
			t.Error("the strange word came in")
		}
	}
}

// Every line that comes from elsewhere says so, also one that joins a run of
// this machine's own.
func TestImportMarksEachLine(t *testing.T) {
	t.Parallel()
	own, fresh := t.TempDir(), t.TempDir()
	of := func(dir string, n int) string {
		w, err := Create(dir, header("run-1"))
		must(t, err)
		for i := range n {
			_, err := w.Append(result(i))
			must(t, err)
		}
		must(t, w.Close())
		return w.Path()
	}
	of(own, 1)
	longer := of(t.TempDir(), 2)
	imported(t, longer, own, 1, 1)
	imported(t, longer, fresh, 2, 0)
	for dir, want := range map[string][]bool{own: {false, true}, fresh: {true, true}} {
		lines, _ := read(t, Path(dir, "run-1"))
		var got []bool
		for _, l := range lines {
			got = append(got, l.Imported)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Whichever of its fields names the platform, it is held to it.
func TestImportRefusesContradictingFields(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		edit    func(*cell.Result)
		refused string
	}{
		"as it was":        {func(*cell.Result) {}, ""},
		"what ran":         {func(r *cell.Result) { r.Actual.Target = "cuda" }, "cuda, which host h-1 was found not to have"},
		"what was asked":   {func(r *cell.Result) { r.Requested.Target = "cuda:1" }, "cuda:1, which host h-1 was found not to have"},
		"a known platform": {func(r *cell.Result) { r.Actual.Target = "mps" }, "its cell is for cpu, and it says that it ran on mps"},
		"a device":         {func(r *cell.Result) { r.Actual.Target = "cpu/onnxruntime" }, ""},
		"nothing ran":      {func(r *cell.Result) { r.Actual = nil }, ""},
		"a fallback": {func(r *cell.Result) {
			r.Requested.Target, r.Fallback = "cuda", &cell.Fallback{From: "cuda", Reason: "no NVIDIA device was found"}
		}, ""},
		"a fallback to what is not there": {func(r *cell.Result) {
			r.Actual.Target, r.Fallback = "cuda", &cell.Fallback{From: "mps", Reason: "x"}
		}, "cuda, which host h-1 was found not to have"},
	} {
		r := result(0)
		r.Cell = cell.Cell{Type: "bert", Target: "cpu"}.Normal()
		actual := cell.SettingsOf(r.Cell)
		r.Requested, r.Actual = actual, &actual
		x.edit(&r)
		w, err := Create(t.TempDir(), header("run-1"))
		must(t, err)
		_, err = w.Append(r)
		must(t, err)
		_, err = w.AppendDetection(start, json.RawMessage(`{"platforms":[{"platform":"cpu","status":"present"},{"platform":"cuda","status":"absent"}]}`))
		must(t, err)
		must(t, w.Close())
		got, err := Import(t.Context(), w.Path(), t.TempDir(), Here{})
		must(t, err)
		if (len(got.Problems) > 0) != (x.refused != "") || x.refused != "" && !strings.Contains(got.Problems[0].Error(), x.refused) {
			t.Errorf("%s: %v", name, got.Problems)
		}
	}
}

// A result may not say that it ran on what its host was found not to have: by
// the detection beside it, or by this machine's own if it claims to be of it.
func TestImportRefusesContradictions(t *testing.T) {
	t.Parallel()
	on := func(target string, e cell.Evidence) cell.Result {
		r := result(0)
		r.Cell = cell.Cell{Type: "bert", Target: target}.Normal()
		s := cell.SettingsOf(r.Cell)
		r.Requested, r.Actual, r.Evidence = s, &s, e
		return r
	}
	const without = `{"platforms":[{"platform":"cpu","status":"present"},{"platform":"cuda","status":"absent"},{"platform":"qnn","status":"absent"},{"platform":"webgpu","status":"absent"}]}`
	forged := []cell.Result{on("cpu", cell.Measured), on("cuda", cell.Measured), on("qnn:sm8650", cell.Emulated), on("webgpu", cell.Measured), on("mps/coreml", cell.Compiled)}
	here := Here{Host: header("").Host.ID, Absent: map[string]bool{"cuda": true, "mps": true}}
	for name, x := range map[string]struct {
		here      Here
		detection string
		refused   int
	}{
		"its own detection":         {Here{}, without, 1},
		"this machine's":            {here, "", 1},
		"another machine's":         {Here{Host: "other", Absent: here.Absent}, "", 0},
		"nothing is known about it": {Here{}, "", 0},
		"a detection that has one":  {Here{}, `{"platforms":[{"platform":"cuda","status":"present"}]}`, 0},
	} {
		w, err := Create(t.TempDir(), header("run-1"))
		must(t, err)
		for _, r := range forged {
			_, err := w.Append(r)
			must(t, err)
		}
		if x.detection != "" {
			_, err = w.AppendDetection(start, json.RawMessage(x.detection))
			must(t, err)
		}
		must(t, w.Close())
		got, err := Import(t.Context(), w.Path(), t.TempDir(), x.here)
		must(t, err)
		if len(got.Problems) != x.refused {
			t.Errorf("%s: %d refused, want %d: %v", name, len(got.Problems), x.refused, got.Problems)
		}
		if len(got.Problems) > 0 && !strings.Contains(got.Problems[0].Error(), "cuda, which host h-1 was found not to have") {
			t.Errorf("%s: %v", name, got.Problems[0])
		}
	}
}

// What a decoder of Go's finds is said as a person would.
func TestDamageIsToldInWords(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "run-1", 1)
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(string(b), `"attempts":1`, `"attempts":"one"`, 1)), 0o644))
	_, problems := read(t, path)
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), `"attempts" is a text, and should be a whole number`) || strings.Contains(problems[0].Error(), "Go ") {
		t.Errorf("%v", problems)
	}
}

// TestImportTellsOfLocalFiles: of the new results, those that no other machine
// can carry out.
func TestImportTellsOfLocalFiles(t *testing.T) {
	t.Parallel()
	own := result(1)
	own.Cell = cell.Cell{Type: "bert", Checkpoint: "/home/ada/bert/config.json", Size: cell.Full}.Normal()
	own.Requested = cell.SettingsOf(own.Cell)
	own.Actual = &own.Requested
	src, dir := report(t, "run-1", result(0), own), t.TempDir()
	for _, want := range []Imported{{New: 2, Local: 1}, {Known: 2}} {
		got, err := Import(t.Context(), src, dir, Here{})
		must(t, err)
		if got.New != want.New || got.Known != want.Known || got.Local != want.Local || len(got.Problems) > 0 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestCount: journals and their lines; what cannot be read is an error.
func TestCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if files, lines, err := Count(filepath.Join(dir, "none")); files != 0 || lines != 0 || err != nil {
		t.Errorf("%d, %d, %v", files, lines, err)
	}
	write(t, dir, "run-1", 3)
	write(t, dir, "run-2", 1)
	if files, lines, err := Count(dir); files != 2 || lines != 8 || err != nil {
		t.Errorf("%d, %d, %v", files, lines, err)
	}
	for name, text := range map[string]string{
		"no journal":     "garbage\n",
		"a damaged line": strings.Replace(string(bytesOf(t, Path(dir, "run-1"))), `{"kind":"result"`, `{"kind":`, 1),
	} {
		put(t, dir, "run-1"+Extension, []byte(text))
		if files, lines, err := Count(dir); err == nil {
			t.Errorf("%s: %d, %d", name, files, lines)
		}
	}
}

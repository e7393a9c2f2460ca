package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/internal/cell"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	plan, err := cell.Plan{Cells: []cell.Cell{{Type: "bert"}}}.Normal()
	must(t, err)
	h := header("run-1")
	h.Plan = &plan
	w, err := Create(filepath.Join(t.TempDir(), "a", "b"), h)
	must(t, err)
	id, err := w.Append(result(3))
	must(t, err)
	_, err = w.AppendDetection(start, json.RawMessage(detection))
	must(t, err)
	must(t, w.End())
	must(t, w.Close())

	r, err := Open(w.Path())
	must(t, err)
	defer r.Close()
	if d := cmp.Diff(h, r.Header()); d != "" {
		t.Error(d)
	}
	lines, problems := read(t, w.Path())
	if len(problems) != 0 {
		t.Error(problems)
	}
	if d := cmp.Diff([]string{"result run-1.1", "detection run-1.2", "end run-1.3"}, ids(lines)); d != "" {
		t.Error(d)
	}
	if id != lines[0].ID {
		t.Errorf("Append returned %q", id)
	}
	if d := cmp.Diff(result(3), *lines[0].Result); d != "" {
		t.Error(d)
	}
	if string(lines[1].Detection) != detection || !lines[1].At.Equal(start) {
		t.Errorf("detection is %s at %v", lines[1].Detection, lines[1].At)
	}
}

func TestManyGoroutinesShareAWriter(t *testing.T) {
	t.Parallel()
	w, err := Create(t.TempDir(), header("run-1"))
	must(t, err)
	const n = 200
	var wg sync.WaitGroup
	acked := make([]string, n)
	for i := range n {
		wg.Go(func() {
			id, err := w.Append(result(i))
			if err != nil {
				t.Error(err)
			}
			acked[i] = id
		})
	}
	wg.Wait()
	must(t, w.Close())
	lines, problems := read(t, w.Path())
	if len(lines) != n || len(problems) != 0 {
		t.Fatalf("%d lines, problems %v", len(lines), problems)
	}
	for i, l := range lines {
		if want := fmt.Sprintf("run-1.%d", i+1); l.ID != want {
			t.Fatalf("line %d has id %s: the order in the file is not that of the ids", i, l.ID)
		}
		if acked[l.Result.Cell.Batch-1] != l.ID {
			t.Fatalf("%s was acknowledged as %s", l.ID, acked[l.Result.Cell.Batch-1])
		}
	}
}

func TestOneWriterARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Create(dir, header("run-1"))
	must(t, err)
	if _, err := Create(dir, header("run-1")); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second Create gave %v", err)
	}
	other := write(t, t.TempDir(), "run-1", 1)
	busy := (*BusyError)(nil)
	if _, err := Import(t.Context(), other, dir, Here{}); !errors.As(err, &busy) {
		t.Errorf("importing into a journal that is being written gave %v", err)
	}
	_, err = w.Append(result(0))
	must(t, err)
	must(t, w.Close())
	if _, err := w.Append(result(1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append after Close gave %v", err)
	}
	must(t, w.Close())
}

func TestRunIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := NewRunID(start)
		if checkRunID(id) != nil || !strings.HasPrefix(id, "20261115T043000Z-") || seen[id] {
			t.Fatalf("bad or repeated id %q", id)
		}
		seen[id] = true
	}
	if a, b := NewRunID(start), NewRunID(start.Add(time.Second)); a >= b {
		t.Errorf("%s does not sort before %s", a, b)
	}
	for _, bad := range []string{"", "..", "a/b", `a\b`, "a.b", "a\x00", strings.Repeat("x", 101), "ä"} {
		if _, err := Create(t.TempDir(), header(bad)); err == nil {
			t.Errorf("run id %q was taken", bad)
		}
	}
}

func TestBrokenLinesArePassedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := bytesOf(t, write(t, dir, "run-1", 3))
	lines := bytes.SplitAfter(b, []byte("\n"))
	for name, bad := range map[string]string{
		"not JSON":       "{\"kind\":\"result\",\n",
		"empty":          "\n",
		"zeros":          "\x00\x00\x00\n",
		"other run":      `{"kind":"result","id":"run-2.5","result":{"cell":{"type":"bert"}}}` + "\n",
		"no result":      `{"kind":"result","id":"run-1.9","result":null}` + "\n",
		"wrong types":    `{"kind":"result","id":"run-1.9","result":{"cell":7}}` + "\n",
		"no cell":        `{"kind":"result","id":"run-1.9","result":{}}` + "\n",
		"bad UTF-8":      "{\"kind\":\"end\",\"id\":\"run-1.\xff\"}\n",
		"bad detection":  `{"kind":"detection","id":"run-1.9","detection":[]}` + "\n",
		"no detection":   `{"kind":"detection","id":"run-1.9"}` + "\n",
		"an array":       "[]\n",
		"header damaged": string(lines[0][10:]),
	} {
		damaged := slices.Concat(lines[0], lines[1], lines[2], []byte(bad), lines[3], lines[4], lines[5])
		path := put(t, dir, "damaged.jsonl", damaged)
		got, problems := read(t, path)
		if len(got) != 5 || len(problems) != 1 || problems[0].Line != 4 {
			t.Errorf("%s: %d lines, problems %v", name, len(got), problems)
		}
		if len(problems) == 1 && !strings.HasPrefix(problems[0].Error(), path+":4: ") {
			t.Errorf("%s: the problem does not name its place: %v", name, problems[0])
		}
	}
}

func TestUnknownKindsAreNoProblem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := bytesOf(t, write(t, dir, "run-1", 1))
	path := put(t, dir, "more.jsonl", append(b, `{"kind":"weather","id":"run-1.x","sun":1}`+"\n"...))
	lines, problems := read(t, path)
	if len(problems) != 0 || lines[len(lines)-1].Kind != "weather" {
		t.Errorf("%v %v", ids(lines), problems)
	}
}

func TestFilesThatAreNoJournals(t *testing.T) {
	t.Parallel()
	foreign, newer := (*ForeignError)(nil), (*NewerError)(nil)
	for name, c := range map[string]struct {
		text string
		as   any
	}{
		"text":          {"hello\n", &foreign},
		"text, no end":  {"hello", &foreign},
		"other JSON":    {"{\"schema\":1,\"rows\":[]}\n", &foreign},
		"no run":        {"{\"schema\":1,\"kind\":\"run\"}\n", &foreign},
		"evil id":       {`{"schema":1,"kind":"run","run":{"id":"../../x"},"host":{}}` + "\n", &foreign},
		"newer":         {`{"schema":2,"kind":"run","run":["changed"]}` + "\n", &newer},
		"empty":         {"", nil},
		"torn header":   {`{"schema":1,"kind":"ru`, nil},
		"torn at once":  {`{"sch`, nil},
		"binary, large": {strings.Repeat("\x00\xff", 100_000), &foreign},
	} {
		_, err := Open(put(t, t.TempDir(), "x.jsonl", []byte(c.text)))
		if c.as == nil && !errors.Is(err, ErrEmpty) || c.as != nil && !errors.As(err, c.as) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if newer == nil || !strings.Contains(newer.Error(), "x.jsonl was made by a newer Assay") {
		t.Errorf("a newer journal says %v", newer)
	}
}

// Cutting a journal at any byte leaves every line before the cut.
func TestTornAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := bytesOf(t, write(t, dir, "run-1", 5))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(whole)).Draw(t, "bytes kept")
		path := filepath.Join(dir, "cut.jsonl")
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		complete := bytes.Count(whole[:n], []byte("\n"))
		lines, problems, err := readAll(path)
		if complete == 0 {
			if !errors.Is(err, ErrEmpty) {
				t.Fatalf("a journal without a header gave %v", err)
			}
			return
		}
		torn := n > 0 && whole[n-1] != '\n'
		if err != nil || len(lines) != complete-1 || len(problems) != b2i(torn) {
			t.Fatalf("%d complete lines, torn %v: read %d, %v, %v", complete, torn, len(lines), problems, err)
		}
		mergeBack(t, whole, path)
	})
}

// mergeBack imports the whole journal over the cut one.
func mergeBack(t *rapid.T, whole []byte, cut string) {
	dir, err := os.MkdirTemp(filepath.Dir(cut), "merge")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Rename(cut, Path(dir, "run-1")); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), Path(filepath.Dir(cut), "run-1"), dir, Here{}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(Path(dir, "run-1")); err != nil || !bytes.Equal(unmarked(b), whole) {
		t.Fatalf("after an import the journal differs from the whole one: %v", err)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestResume(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "run-1", 4)
	r, err := Open(path)
	must(t, err)
	defer r.Close()
	_, err = r.Next()
	must(t, err)
	at, number := r.Offset(), r.Number()
	want, err := r.Next()
	must(t, err)

	again, err := Open(path)
	must(t, err)
	defer again.Close()
	must(t, again.Resume(at, number))
	got, err := again.Next()
	must(t, err)
	if got.ID != want.ID || got.Number != want.Number {
		t.Errorf("resumed at line %d %s, want %d %s", got.Number, got.ID, want.Number, want.ID)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(bytesOf(f, write(f, f.TempDir(), "run-1", 1)))
	f.Add([]byte(`{"schema":1,"kind":"run","id":"r.0","run":{"id":"r"},"host":{}}` + "\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := put(t, t.TempDir(), "x.jsonl", b)
		r, err := Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		good := 0
		for _, err := r.Next(); err == nil; _, err = r.Next() {
			good++
		}
		complete := bytes.Count(b, []byte("\n"))
		if r.Number() != complete || good+len(r.Problems()) != complete-1+b2i(r.Torn()) {
			t.Errorf("%d lines: %d good, problems %v", complete, good, r.Problems())
		}
	})
}

//go:build cgo

package store

import (
	"os"
	"strings"
	"testing"

	"assay/internal/journal"

	"github.com/google/go-cmp/cmp"
)

// A journal that is damaged after it was loaded costs no row, and says so with
// every answer until it is whole again.
func TestDamagedJournalKeepsItsRows(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(whole string) string{
		"the header":       func(s string) string { return "{" + s[3:] },
		"a line":           func(s string) string { return strings.Replace(s, `"run-1.2"`, `run-1.2`, 1) },
		"a line, and more": func(s string) string { return strings.Replace(s, `{"kind":"result","id":"run-1.2"`, "garbage", 1) },
		"its second half":  func(s string) string { return s[:len(s)/2] },
		"its last line":    func(s string) string { return s[:strings.LastIndex(s[:len(s)-1], "\n")+1] },
		"all but a header": func(s string) string { return s[:strings.Index(s, "\n")+1] },
		"a line, cut out, and then it grew": func(s string) string {
			at := strings.Index(s, `{"kind":"result","id":"run-1.2"`)
			end := at + strings.Index(s[at:], "\n") + 1
			return s[:at] + s[end:] + strings.Repeat(strings.ReplaceAll(s[at:end], "run-1.2", "run-1.1"), 2)
		},
		"all of it": func(string) string { return strings.Repeat("\x00", 100) },
	} {
		s := newStore(t)
		write(t, s, "run-1", result(0), result(1), result(2))
		write(t, s, "run-2", result(3))
		path := journal.Path(s.Journals(), "run-1")
		const count = "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM results"
		before, whole := answer(t, s, count), readFile(t, path)
		must(t, os.WriteFile(path, []byte(damage(whole)), 0o644))
		for range 2 {
			rows, err := s.Query(t.Context(), count)
			must(t, err)
			if n := rows.Values[0][0]; n != int64(4) || rows.Values[0][1] != n {
				t.Errorf("%s: %v rows are left of %q", name, n, before)
			}
			for _, note := range rows.Notes {
				if strings.Count(note, "run-1.jsonl") != 1 {
					t.Errorf("%s: the note does not name the file once: %v", name, note)
				}
			}
			if len(rows.Notes) == 0 {
				t.Errorf("%s: nothing is said", name)
			}
		}
		must(t, os.WriteFile(path, []byte(whole), 0o644))
		rows, err := s.Query(t.Context(), count)
		must(t, err)
		if rows.Values[0][0] != int64(4) || len(rows.Notes) > 0 {
			t.Errorf("%s, mended: %v rows, %v", name, rows.Values[0][0], rows.Notes)
		}
	}
}

// Lines that are whole count without their header too.
func TestLinesSurviveTheirHeader(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "run-1", result(0), result(1))
	path := journal.Path(s.Journals(), "run-1")
	must(t, os.WriteFile(path, []byte("garbage"+readFile(t, path)), 0o644))
	done, err := s.Rebuild(t.Context())
	must(t, err)
	if len(done.Problems) != 1 || !strings.Contains(done.Problems[0].Error(), "its header is damaged") {
		t.Errorf("problems: %v", done.Problems)
	}
	want := "id,host\nrun-1.1,unknown\nrun-1.2,unknown\n"
	if d := cmp.Diff(want, answer(t, s, "SELECT id, host FROM hardware_results ORDER BY id")); d != "" {
		t.Error(d)
	}
}

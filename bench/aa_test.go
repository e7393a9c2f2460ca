package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/compare"

	"github.com/google/go-cmp/cmp"
)

// TestTalliesGoOn: what was done is there again after a line was cut short, kinds go on
// alike far, and another machine's comparisons are not added to.
func TestTalliesGoOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "aa.jsonl")
	here := aaSetting{Schema: 1, Machine: "Xeon", Key: "k"}
	wanted := map[against]int{{}: 10, plants[1]: 2}
	open := func() *aaTallies {
		s, err := openAATallies(path, here, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var kinds []against
	for left := 12; left > 0; left-- {
		s := open() // and closed again after each
		kind, n := s.next(wanted)
		if n != left {
			t.Fatalf("%d are left, not %d", n, left)
		}
		kinds = append(kinds, kind)
		if err := s.add(aaTally{against: kind, Verdict: compare.Slower, Varies: 0.01, Ratio: 1.1}); err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		cut, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = cut.WriteString(`{"planted":"sl`)
		_ = cut.Close()
	}
	if kinds[0] != (against{}) || kinds[1] != plants[1] {
		t.Errorf("one kind is far ahead: %v", kinds)
	}
	s := open()
	if _, left := s.next(wanted); left != 0 || len(s.list) != 12 {
		t.Errorf("%d comparisons, %d left", len(s.list), left)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	there := here
	there.Key = "another"
	if _, err := openAATallies(path, there, func(string) {}); err == nil || !strings.Contains(err.Error(), "name another file with -state") {
		t.Errorf("another machine: %v", err)
	}
	if err := os.WriteFile(path, []byte("no\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openAATallies(path, here, func(string) {}); err == nil {
		t.Error("a file that is none is gone on with")
	}
}

// TestRates: false verdicts are counted by direction, slow-downs by how much the cell
// varies, and what is refuted or faster is not found.
func TestRates(t *testing.T) {
	t.Parallel()
	s := &aaTallies{setting: aaSetting{Machine: "Xeon"}}
	for verdict, n := range map[compare.SpeedVerdict]int{compare.Equal: 990, compare.Refuted: 6, compare.Slower: 1, compare.Faster: 3} {
		for range n {
			s.list = append(s.list, aaTally{Verdict: verdict})
		}
	}
	for i := range 20 {
		one := aaTally{against: plants[0], Verdict: compare.Slower, Varies: 0.01}
		if i >= 10 {
			one.Varies = 0.02
		}
		if i%5 == 0 {
			one.Verdict = []compare.SpeedVerdict{compare.Faster, compare.Refuted}[i%2]
		}
		s.list = append(s.list, one)
	}
	got := s.rates()
	want := compare.Rates{Machine: "Xeon", Comparisons: 1000, Slower: 1, Faster: 3, Lo: got.Lo, Hi: got.Hi, Found: []compare.Found{
		{Planted: "sleep", Change: 0.05, Steady: true, Tries: 10, Found: 8}, {Planted: "sleep", Change: 0.05, Tries: 10, Found: 8}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var b strings.Builder
	writeTables(&b, got)
	for _, line := range []string{"| 1000 | 4 | 1 | 3 | 4.00 (1.09 to 10.21) | ≤ 1 |\n", "| sleep | 5 % | ≤ 1.5 % | 8 of 10 (80 %) | 44 to 97 % | ≥ 80 % |\n", "| sleep | 5 % | more | 8 of 10 (80 %) | 44 to 97 % |  |\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is missing:\n%s", line, b.String())
		}
	}
}

// TestPace: what is left takes as long as what was done, share by share.
func TestPace(t *testing.T) {
	t.Parallel()
	if got := pace(30, 900, 2*time.Minute); got != "900 an hour, 900 left: 1h0m0s" {
		t.Error(got)
	}
}

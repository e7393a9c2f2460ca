package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/compare"

	"github.com/google/go-cmp/cmp"
)

// openTallies opens a file of the setting.
func openTallies(t *testing.T, path string, is aaSetting) *aaTallies {
	t.Helper()
	s, err := openAATallies(path, is, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTalliesGoOn: what was done is there again after a line was cut short, kinds go on
// alike far, and another machine's comparisons are not added to.
func TestTalliesGoOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "aa.jsonl")
	here := aaSetting{Schema: 2, Machine: "Xeon", Key: "k"}
	wanted := map[against]int{{}: 10, plants[1]: 2}
	var kinds []against
	for left := 11; left >= 0; left-- {
		s := openTallies(t, path, here) // and closed again after each
		kind, ok := s.take(wanted)
		made, n, err := s.add(aaTally{against: kind, ID: uint64(left), Verdict: compare.Slower, Varies: 0.01, Ratio: 1.1}, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || n != left || made != 12-left {
			t.Fatalf("%v: %d are made, and %d left, not %d", ok, made, n, left)
		}
		kinds = append(kinds, kind)
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
	s := openTallies(t, path, here)
	if _, ok := s.take(wanted); ok || len(s.list) != 12 || len(s.left(wanted)) != 0 {
		t.Errorf("%d comparisons, %v left", len(s.list), s.left(wanted))
	}
	if _, err := openAATallies(path, here, func(string) {}); err == nil || !strings.Contains(err.Error(), "another run adds to it") {
		t.Errorf("two runs add to one file: %v", err)
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
	if text, err := os.ReadFile(path); err != nil || string(text) != "no\n" {
		t.Errorf("a file that is none was written to: %q, %v", text, err)
	}
}

// TestTalliesOfLanes: lanes that take and add at the same time make each comparison once,
// and one that failed is taken again.
func TestTalliesOfLanes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "aa.jsonl")
	s := openTallies(t, path, aaSetting{})
	wanted := map[against]int{{}: 100, plants[0]: 20, plants[3]: 20}
	var all sync.WaitGroup
	for l := range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				kind, ok := s.take(wanted)
				if !ok {
					return
				}
				if n == 3 {
					s.drop(kind)
					continue
				}
				if _, _, err := s.add(aaTally{against: kind, ID: uint64(1000*l + n), Lanes: 4}, wanted); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s = openTallies(t, path, aaSetting{})
	got := map[against]int{}
	for _, x := range s.list {
		got[x.against]++
	}
	if d := cmp.Diff(wanted, got); d != "" {
		t.Error(d)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// TestMerge: what another run of the machine found is added, once, a line that was cut
// short left out; another machine's is refused.
func TestMerge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here, there := aaSetting{Key: "k"}, aaSetting{Key: "another"}
	file := func(name string, is aaSetting, ids ...uint64) string {
		path := filepath.Join(dir, name)
		s := openTallies(t, path, is)
		for _, id := range ids {
			if _, _, err := s.add(aaTally{ID: id}, map[against]int{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.file.WriteString(`{"planted":""`)
		if err := errors.Join(err, s.close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second, foreign := file("first", here, 1, 2), file("second", here, 2, 3), file("foreign", there, 4)
	for range 2 {
		s := openTallies(t, first, here)
		if err := s.merge([]string{second, second}, func(string) {}); err != nil {
			t.Fatal(err)
		}
		if err := s.merge([]string{foreign}, func(string) {}); err == nil || !strings.Contains(err.Error(), "foreign") {
			t.Errorf("another machine's comparisons: %v", err)
		}
		var ids []uint64
		for _, x := range s.list {
			ids = append(ids, x.ID)
		}
		if d := cmp.Diff([]uint64{1, 2, 3}, ids); d != "" {
			t.Error(d)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLanes: each lane has processors of its own, as many as a repeat has threads.
func TestLanes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked, threads int
		may            []int
		want           [][]int
		err            string
	}{
		{0, 1, []int{0, 1}, [][]int{{0}, {1}}, ""},
		{1, 1, []int{3, 5}, [][]int{{3}}, ""},
		{0, 2, []int{0, 1, 2, 4, 7}, [][]int{{0, 1}, {2, 4}}, ""},
		{3, 2, []int{0, 1, 2, 4}, nil, "3 lanes, each of 2 threads, need 6 processors, and this program may run on 4"},
		{0, 4, []int{0, 1}, nil, "a repeat of 4 threads needs as many processors"},
		{0, 4, nil, [][]int{nil}, ""}, // where nothing can be held to a processor
		{2, 1, nil, [][]int{nil, nil}, ""},
	} {
		lanes, err := lanesOf(c.asked, c.threads, c.may)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		var got [][]int
		for i, l := range lanes {
			if l.number != i {
				t.Errorf("%+v: lane %d is %d", c, i, l.number)
			}
			got = append(got, l.cpus)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%+v: %s", c, d)
		}
	}
}

// TestRates: false verdicts are counted by direction, slow-downs by how much the cell
// varies, and what is refuted or faster is not found.
func TestRates(t *testing.T) {
	t.Parallel()
	s := &aaTallies{setting: aaSetting{Machine: "Xeon", Threads: 1}}
	for verdict, n := range map[compare.SpeedVerdict]int{compare.Equal: 990, compare.Refuted: 6, compare.Slower: 1, compare.Faster: 3} {
		for range n {
			s.list = append(s.list, aaTally{Verdict: verdict, Lanes: 2, Load: new(3.0)})
		}
	}
	for i := range 20 {
		one := aaTally{against: plants[0], Verdict: compare.Slower, Varies: 0.01, Lanes: 1, Load: new(0.5)}
		if i >= 10 {
			one.Varies = 0.02
		}
		if i%5 == 0 {
			one.Verdict = []compare.SpeedVerdict{compare.Faster, compare.Refuted}[i%2]
		}
		s.list = append(s.list, one)
	}
	got := s.rates()
	want := compare.Rates{Machine: "Xeon (comparisons at a time: 1 to 2, each of one thread; load 0.5 to 3.0, median 3.0)",
		Comparisons: 1000, Wanted: 5000, WantedTries: 200, Slower: 1, Faster: 3, Lo: got.Lo, Hi: got.Hi, Found: []compare.Found{
			{Planted: "sleep", Change: 0.05, Steady: true, Tries: 10, Found: 8}, {Planted: "sleep", Change: 0.05, Tries: 10, Found: 8}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var b strings.Builder
	writeTables(&b, got)
	for _, line := range []string{"| incomplete, 1000 of 5000 | 4 | 1 | 3 | 4.00 (1.09 to 10.21) | ≤ 1 |\n", "| sleep | 5 % | ≤ 1.5 % | 8 of 10 (80 %) | 44 to 97 % | ≥ 80 %; incomplete, 20 of 200 |\n",
		"| sleep | 5 % | more | 8 of 10 (80 %) | 44 to 97 % | incomplete, 20 of 200 |\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is missing:\n%s", line, b.String())
		}
	}
	got.Wanted, got.WantedTries = 1000, 20
	b.Reset()
	if writeTables(&b, got); strings.Contains(b.String(), "incomplete") {
		t.Errorf("all was done:\n%s", b.String())
	}
}

// TestWriteRates: what was reached is written, however little; but fewer comparisons than
// are there do not replace them, and no file that holds something else is overwritten.
func TestWriteRates(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rates.json")
	is := func(n int) {
		t.Helper()
		var r compare.Rates
		text, err := os.ReadFile(path)
		if err := errors.Join(err, json.Unmarshal(text, &r)); err != nil || r.Comparisons != n {
			t.Errorf("%d comparisons are there, not %d: %v", r.Comparisons, n, err)
		}
	}
	for _, n := range []int{3, 700, 9000, 5000} { // the last two are all that is asked for
		if err := writeRates(path, compare.Rates{Comparisons: n, Wanted: 5000}); err != nil {
			t.Fatal(err)
		}
		is(n)
	}
	if err := writeRates(path, compare.Rates{Comparisons: 4999, Wanted: 5000}); err == nil || !strings.Contains(err.Error(), "stays as it is") {
		t.Errorf("%v", err)
	}
	is(5000)
	if err := os.WriteFile(path, []byte("a diary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeRates(path, compare.Rates{Comparisons: 5000, Wanted: 5000}); err == nil || !strings.Contains(err.Error(), "holds no rates") {
		t.Errorf("%v", err)
	}
}

// TestPace: what is left takes as long as what was done, share by share.
func TestPace(t *testing.T) {
	t.Parallel()
	if got := pace(30, 900, 2*time.Minute); got != "900 an hour, 900 left: 1h0m0s" {
		t.Error(got)
	}
}

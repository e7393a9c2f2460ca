package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/compare"
	"assay/internal/measure"
)

// aaSetting is the first line of a file of comparisons.
type aaSetting struct {
	Schema       int     `json:"schema"`
	Machine      string  `json:"machine"` // in words
	Key          string  `json:"key"`     // of the machine
	Torch        string  `json:"torch"`
	Transformers string  `json:"transformers"`
	Type         string  `json:"type"`
	Batch        int     `json:"batch"`
	Threads      int     `json:"threads"`
	Timing       string  `json:"timing"`
	LeastS       float64 `json:"least_s"` // that a repeat times
	Repeats      int     `json:"repeats"` // of a side, before confirmation
}

// aaTally is one comparison.
type aaTally struct {
	against
	At      time.Time            `json:"at"`
	Verdict compare.SpeedVerdict `json:"verdict"`
	Ratio   float64              `json:"ratio"`
	Finds   *float64             `json:"finds"`   // the smallest change that it could have found
	Varies  float64              `json:"varies"`  // side a's repeats, as a share
	Repeats int                  `json:"repeats"` // of a side, with those of the confirmation
}

// steady is how much the repeats of a cell may vary whose slow-downs must be found.
const steady = 0.015

// aaTallies are the comparisons of a file.
type aaTallies struct {
	setting aaSetting
	list    []aaTally
	file    *os.File
}

// openAATallies opens a file of comparisons, or begins one. A last line that was cut
// short goes; anything else that cannot be read, and another setting, is an error.
func openAATallies(path string, now aaSetting, say func(string)) (*aaTallies, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	t := &aaTallies{setting: now}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if err := t.read(text[:whole]); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if t.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	_, seek := t.file.Seek(int64(whole), io.SeekStart)
	if err := errors.Join(t.file.Truncate(int64(whole)), seek); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	if whole == 0 {
		return t, t.line(now)
	}
	say(fmt.Sprintf("%d comparisons are in %s", len(t.list), path))
	return t, nil
}

func (t *aaTallies) read(text []byte) error {
	for i, line := range slices.Collect(bytes.Lines(text)) {
		if i > 0 {
			var one aaTally
			if err := json.Unmarshal(line, &one); err != nil {
				return fmt.Errorf("line %d is no comparison: %w", i+1, err)
			}
			t.list = append(t.list, one)
			continue
		}
		var is aaSetting
		if err := json.Unmarshal(line, &is); err != nil {
			return fmt.Errorf("the first line is no setting: %w", err)
		}
		if is != t.setting {
			return fmt.Errorf("its comparisons are of %+v, and these would be of %+v: name another file with -state", is, t.setting)
		}
	}
	return nil
}

func (t *aaTallies) line(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = t.file.Write(append(text, '\n'))
	}
	return err
}

func (t *aaTallies) add(one aaTally) error {
	t.list = append(t.list, one)
	return t.line(one)
}

func (t *aaTallies) close() error { return t.file.Close() }

func (t *aaTallies) of(kind against) []aaTally {
	return slices.DeleteFunc(slices.Clone(t.list), func(x aaTally) bool { return x.against != kind })
}

// next is the kind of comparison that is furthest behind, and how many are left in all.
func (t *aaTallies) next(wanted map[against]int) (kind against, left int) {
	done := map[against]int{}
	for _, x := range t.list {
		done[x.against]++
	}
	least := 1.0
	for _, k := range append([]against{{}}, plants...) {
		if wanted[k] <= done[k] {
			continue
		}
		left += wanted[k] - done[k]
		if share := float64(done[k]) / float64(wanted[k]); share < least {
			kind, least = k, share
		}
	}
	return kind, left
}

// rates are what the comparisons say together.
func (t *aaTallies) rates() compare.Rates {
	r := compare.Rates{Machine: t.setting.Machine, Found: []compare.Found{}}
	for _, x := range t.of(against{}) {
		r.Comparisons++
		switch x.Verdict {
		case compare.Slower:
			r.Slower++
		case compare.Faster:
			r.Faster++
		}
	}
	r.Lo, r.Hi = measure.ShareInterval(r.Slower+r.Faster, r.Comparisons)
	for _, p := range plants {
		found := map[bool]*compare.Found{true: {Steady: true}, false: {}}
		for _, x := range t.of(p) {
			f := found[x.Varies <= steady]
			f.Tries++
			if x.Verdict == compare.Slower {
				f.Found++
			}
		}
		for _, is := range []bool{true, false} {
			if f := found[is]; f.Tries > 0 {
				f.Planted, f.Change = p.How, p.Change
				r.Found = append(r.Found, *f)
			}
		}
	}
	return r
}

func marshalRates(r compare.Rates) ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// aaBars are what must be reached: false verdicts at most, and slow-downs found at least.
const aaBar = 0.001

var foundBars = map[float64]float64{0.05: 0.80, 0.10: 0.95}

// writeTables prints both tables, for docs/benchmarks.md.
func writeTables(w io.Writer, r compare.Rates) {
	n := r.Slower + r.Faster
	fmt.Fprintf(w, "On %s:\n\n| a cell against itself | false verdicts | slower | faster | in 1,000, with 95 %% | bar |\n| --- | --- | --- | --- | --- | --- |\n", cmp.Or(r.Machine, "this machine"))
	fmt.Fprintf(w, "| %d | %d | %d | %d | %.2f (%.2f to %.2f) | ≤ %.0f |\n\n", r.Comparisons, n, r.Slower, r.Faster, 1000*fraction(n, r.Comparisons), 1000*r.Lo, 1000*r.Hi, 1000*aaBar)
	fmt.Fprint(w, "| planted | slower by | repeats vary by | found | with 95 % | bar |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, f := range r.Found {
		lo, hi := measure.ShareInterval(f.Found, f.Tries)
		varies, bar := "more", ""
		if f.Steady {
			varies, bar = fmt.Sprintf("≤ %.1f %%", 100*steady), fmt.Sprintf("≥ %.0f %%", 100*foundBars[f.Change])
		}
		fmt.Fprintf(w, "| %s | %.0f %% | %s | %d of %d (%.0f %%) | %.0f to %.0f %% | %s |\n", f.Planted, 100*f.Change, varies, f.Found, f.Tries, 100*fraction(f.Found, f.Tries), 100*lo, 100*hi, bar)
	}
}

func fraction(k, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(k) / float64(n)
}

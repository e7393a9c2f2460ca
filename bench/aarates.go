package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"assay/internal/compare"
	"assay/internal/measure"
	"assay/internal/wholefile"
)

// rates are what the comparisons say together.
func (t *aaTallies) rates() compare.Rates {
	r := compare.Rates{Machine: t.where(), Wanted: barComparisons, WantedTries: barTries, Found: []compare.Found{}}
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

// where is the machine, and in what state it was meanwhile.
func (t *aaTallies) where() string {
	if len(t.list) == 0 {
		return t.setting.Machine
	}
	var loads []float64
	fewest, most := math.MaxInt, 0
	for _, x := range t.list {
		fewest, most = min(fewest, x.Lanes), max(most, x.Lanes)
		if x.Load != nil {
			loads = append(loads, *x.Load)
		}
	}
	lanes := fmt.Sprint(fewest)
	if most > fewest {
		lanes = fmt.Sprintf("%d to %d", fewest, most)
	}
	out := fmt.Sprintf("%s (comparisons at a time: %s, each of %s", t.setting.Machine, lanes, threadsText(t.setting.Threads))
	if len(loads) > 0 {
		out += fmt.Sprintf("; load %.1f to %.1f, median %.1f", slices.Min(loads), slices.Max(loads), measure.Median(loads))
	}
	return out + ")"
}

func threadsText(n int) string {
	if n == 1 {
		return "one thread"
	}
	return fmt.Sprintf("%d threads", n)
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
	fmt.Fprintf(w, "| %s | %d | %d | %d | %.2f (%.2f to %.2f) | ≤ %.0f |\n\n", ofWanted(r.Comparisons, r.Wanted), n, r.Slower, r.Faster, 1000*fraction(n, r.Comparisons), 1000*r.Lo, 1000*r.Hi, 1000*aaBar)
	fmt.Fprint(w, "| planted | slower by | repeats vary by | found | with 95 % | bar |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, f := range r.Found {
		lo, hi := measure.ShareInterval(f.Found, f.Tries)
		varies, bar := "more", ""
		if f.Steady {
			varies, bar = fmt.Sprintf("≤ %.1f %%", 100*steady), fmt.Sprintf("≥ %.0f %%", 100*foundBars[f.Change])
		}
		if tries := r.Tries(f.Planted, f.Change); tries < r.WantedTries {
			bar = strings.TrimPrefix(bar+"; ", "; ") + ofWanted(tries, r.WantedTries)
		}
		fmt.Fprintf(w, "| %s | %.0f %% | %s | %d of %d (%.0f %%) | %.0f to %.0f %% | %s |\n", f.Planted, 100*f.Change, varies, f.Found, f.Tries, 100*fraction(f.Found, f.Tries), 100*lo, 100*hi, bar)
	}
}

// ofWanted is a number, and that it is short of what is asked for.
func ofWanted(n, wanted int) string {
	if n >= wanted {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("incomplete, %d of %d", n, wanted)
}

func fraction(k, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(k) / float64(n)
}

// writeRates writes what comparisons end with. Fewer comparisons than a file holds do not
// replace it, unless they are as many as are asked for.
func writeRates(path string, r compare.Rates) error {
	var is compare.Rates
	old, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(old, &is)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s holds no rates, and is not overwritten: %w", path, err)
	}
	if r.Comparisons < min(is.Comparisons, r.Wanted) {
		return fmt.Errorf("%s stays as it is: it is of %d comparisons on %s, and these are %d", path, is.Comparisons, is.Machine, r.Comparisons)
	}
	text, err := marshalRates(r)
	if err != nil {
		return err
	}
	return wholefile.Write(path, text, wholefile.Options{Mode: 0o644})
}

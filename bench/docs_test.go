package main

import (
	"os"
	"regexp"
	"testing"
	"time"
)

// The picture that README opens with is as new as the tables of benchmarks: what
// has begun to work since must not be shown as missing.
func TestMatrixOfREADMEIsNotStale(t *testing.T) {
	t.Parallel()
	shown := newest(t, "../docs/matrix.svg", regexp.MustCompile(`· (20\d\d-\d\d-\d\d \d\d:\d\d) UTC`))
	measured := newest(t, "../docs/benchmarks.md", regexp.MustCompile(`(?m)^- date: (20\d\d-\d\d-\d\d \d\d:\d\d) UTC`))
	if shown.Before(measured) {
		t.Errorf("docs/matrix.svg is of %v, and the newest table of docs/benchmarks.md of %v: make it again with assay matrix --key --platform all --out DIR", shown, measured)
	}
}

func newest(t *testing.T, path string, date *regexp.Regexp) time.Time {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for _, m := range date.FindAllSubmatch(b, -1) {
		at, err := time.Parse("2006-01-02 15:04", string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		if at.After(last) {
			last = at
		}
	}
	if last.IsZero() {
		t.Fatalf("%s has no date", path)
	}
	return last
}

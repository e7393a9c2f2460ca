package report

import (
	"strings"
	"testing"

	"assay/internal/compare"
)

// TestRatesText: the line names the machine and the numbers, and says where they fall
// short of what is asked for, and only there.
func TestRatesText(t *testing.T) {
	t.Parallel()
	r := compare.Rates{Machine: "Xeon (load 1.0)", Comparisons: 812, Wanted: 5000, WantedTries: 200, Slower: 1, Hi: 0.0068,
		Found: []compare.Found{{Planted: "sleep", Change: 0.1, Steady: true, Tries: 20, Found: 19}, {Planted: "sleep", Change: 0.1, Tries: 5, Found: 1}}}
	want := "1 of 812 comparisons of a cell with itself after confirmation (0.00 to 6.80 in 1,000; 1 slower, 0 faster), on Xeon (load 1.0); incomplete, 812 of 5000" +
		"; +10 % (sleep) found in 19 of 20 (incomplete, 25 of 200 tries)"
	if got := RatesText(r); got != want {
		t.Errorf("%s\nis not\n%s", got, want)
	}
	r.Comparisons, r.Found[1].Tries = 5000, 180
	if got := RatesText(r); strings.Contains(got, "incomplete") || !strings.Contains(got, "1 of 5000 comparisons") {
		t.Error(got)
	}
	if got := RatesText(compare.Rates{Wanted: 5000}); !strings.Contains(got, "not measured on a real machine yet") {
		t.Error(got)
	}
}

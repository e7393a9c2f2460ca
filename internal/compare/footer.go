package compare

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/cell"
	"assay/internal/measure"
)

// Footer says how far the comparison can be trusted: on which machine, from how
// many repeats, and how often the method was seen to be wrong.
type Footer struct {
	Machine   string `json:"machine"`
	RepeatsA  [2]int `json:"repeats_a"` // fewest and most
	RepeatsB  [2]int `json:"repeats_b"`
	Confirmed bool   `json:"confirmed"` // candidates were run again
	Stored    bool   `json:"stored"`    // the sides ran at different times
	// LeastP is the smallest p-value that so many repeats can give.
	LeastP *float64 `json:"least_p"`
	Rates  Rates    `json:"rates"`
}

// Rates are how often verdicts after confirmation were seen to be wrong, and right, on
// the machine that they name. With no comparisons nothing was measured yet.
type Rates struct {
	Machine     string  `json:"machine"`
	Comparisons int     `json:"comparisons"` // of a cell with itself
	Wanted      int     `json:"wanted"`      // of which so many are asked for
	Slower      int     `json:"slower"`      // false verdicts
	Faster      int     `json:"faster"`
	Lo          float64 `json:"lo"` // Lo and Hi hold the true share of false verdicts
	Hi          float64 `json:"hi"`
	Found       []Found `json:"found"`
	WantedTries int     `json:"wanted_tries"` // of each planted slow-down, steady or not
}

// Tries is how often a slow-down was planted, in cells that vary little and in others.
func (r Rates) Tries(planted string, change float64) (n int) {
	for _, x := range r.Found {
		if x.Planted == planted && x.Change == change {
			n += x.Tries
		}
	}
	return n
}

// Found is how often a planted slow-down was found.
type Found struct {
	Planted string  `json:"planted"` // how
	Change  float64 `json:"change"`  // 0.10 is 10 %
	Steady  bool    `json:"steady"`  // cells whose repeats vary by at most 1.5 %
	Tries   int     `json:"tries"`
	Found   int     `json:"found"`
}

//go:embed rates.json
var ratesFile []byte

// PublishedRates are those that this program carries.
func PublishedRates() (Rates, error) {
	var r Rates
	err := json.Unmarshal(ratesFile, &r)
	return r, err
}

func footer(list []Speed, o Options) Footer {
	f := Footer{Stored: o.Stored}
	f.Rates, _ = PublishedRates() // which a test reads
	for i, s := range list {
		if i == 0 {
			f.RepeatsA, f.RepeatsB = [2]int{s.RepeatsA, s.RepeatsA}, [2]int{s.RepeatsB, s.RepeatsB}
		}
		f.RepeatsA = [2]int{min(f.RepeatsA[0], s.RepeatsA), max(f.RepeatsA[1], s.RepeatsA)}
		f.RepeatsB = [2]int{min(f.RepeatsB[0], s.RepeatsB), max(f.RepeatsB[1], s.RepeatsB)}
	}
	if len(list) > 0 {
		p := measure.LeastP(f.RepeatsA[1], f.RepeatsB[1])
		f.LeastP = &p
	}
	return f
}

func (f Footer) of(machine string) Footer {
	f.Machine = machine
	return f
}

// machineOf names the machine that both sides ran on, or all of them.
func machineOf(a, b []cell.Host) string {
	var out []string
	seen := map[string]bool{}
	for _, h := range append(append([]cell.Host{}, a...), b...) {
		if key := h.MachineKey(); !seen[key] {
			seen[key] = true
			out = append(out, MachineName(h))
		}
	}
	return strings.Join(out, "; ")
}

// MachineName is a host in a few words.
func MachineName(h cell.Host) string {
	var parts []string
	if h.CPU != "" {
		parts = append(parts, h.CPU)
	}
	if h.Cores > 0 {
		parts = append(parts, fmt.Sprintf("%d usable cores", h.Cores))
	}
	parts = append(parts, h.Devices...)
	if len(parts) == 0 {
		return "host " + h.ID
	}
	return strings.Join(parts, ", ")
}

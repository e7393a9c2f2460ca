package compare

import (
	"math"

	"assay/internal/cell"
)

// Change is a number beside speed that is not what it was. Of these no repeats are
// kept, so that nothing says how certain it is: they are told, and fail nobody.
type Change struct {
	Cell  Named   `json:"cell"`
	What  string  `json:"what"` // load, memory, energy
	Unit  string  `json:"unit"` // ms, bytes, J
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	Ratio float64 `json:"ratio"`
}

// kept are the numbers that are looked at, with the least change of each that is
// told: as a share, and in its unit.
var kept = []struct {
	what, unit   string
	share, least float64
	of           func(*cell.Result) (float64, bool)
}{
	{"load", "ms", 0.15, 20, loadMS},
	{"memory", "bytes", 0.05, 4 << 20, memoryBytes},
	{"energy", "J", 0.10, 0, energyJ},
}

func changes(p Pair) []Change {
	var out []Change
	for _, k := range kept {
		a, okA := k.of(p.A.Result)
		b, okB := k.of(p.B.Result)
		if !okA || !okB || a <= 0 || b <= 0 {
			continue
		}
		if math.Abs(b-a) >= k.least && math.Abs(math.Log(b/a)) >= math.Log1p(k.share) {
			out = append(out, Change{p.named(), k.what, k.unit, a, b, b / a})
		}
	}
	return out
}

func loadMS(r *cell.Result) (float64, bool) {
	sum, known := 0.0, false
	for _, phase := range cell.LoadPhases() {
		if ms, ok := r.PhasesMS[phase]; ok {
			sum, known = sum+ms, true
		}
	}
	return sum, known
}

// memoryBytes is the device's peak over what it held before, or else the host's.
func memoryBytes(r *cell.Result) (float64, bool) {
	m := r.Memory
	if m == nil {
		return 0, false
	}
	over := func(peak, base *int64) (float64, bool) {
		if peak == nil {
			return 0, false
		}
		if base == nil {
			return float64(*peak), true
		}
		return float64(*peak - *base), true
	}
	if v, ok := over(m.DevicePeakBytes, m.DeviceBaselineBytes); ok {
		return v, true
	}
	return over(m.HostPeakBytes, m.HostBaselineBytes)
}

func energyJ(r *cell.Result) (float64, bool) {
	if r.EnergyJ == nil {
		return 0, false
	}
	return *r.EnergyJ, true
}

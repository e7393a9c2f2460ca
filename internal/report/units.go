package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/measure"
)

// unit is a step of a scale: values below its limit are shown in it.
type unit struct {
	below, per float64
	name       string
}

var times = []unit{{1, 1e-3, "µs"}, {1e3, 1, "ms"}, {120e3, 1e3, "s"}, {math.Inf(1), 60e3, "min"}}

var sizes = []unit{{1e3, 1, "B"}, {1e6, 1e3, "kB"}, {1e9, 1e6, "MB"}, {math.Inf(1), 1e9, "GB"}}

var counts = []unit{{1e3, 1, ""}, {1e6, 1e3, " k"}, {1e9, 1e6, " M"}, {math.Inf(1), 1e9, " G"}}

func unitOf(v float64, scale []unit) unit {
	for _, u := range scale {
		// 999.7 would be rounded to 1000 of its unit.
		if math.Abs(v) < u.below*0.9995 {
			return u
		}
	}
	return scale[len(scale)-1]
}

// digits writes three significant digits and no exponent.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// Milliseconds writes a time in the unit that suits it: "840 µs", "8.21 ms".
func Milliseconds(ms float64) string {
	u := unitOf(ms, times)
	return digits(ms/u.per) + " " + u.name
}

// interval writes lo and hi in the unit that suits the median, "[8.02–8.60]";
// "" where there is none.
func interval(median float64, lo, hi *float64) string {
	if lo == nil || hi == nil {
		return ""
	}
	u := unitOf(median, times)
	return "[" + digits(*lo/u.per) + "–" + digits(*hi/u.per) + "]"
}

// Bytes writes a size in decimal units: "438 MB".
func Bytes(n int64) string {
	u := unitOf(float64(n), sizes)
	if u.per == 1 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return digits(float64(n)/u.per) + " " + u.name
}

func bytesOr(n *int64, otherwise string) string {
	if n == nil {
		return otherwise
	}
	return Bytes(*n)
}

// Count writes a large number shortly: "110 M".
func Count(n int64) string {
	u := unitOf(float64(n), counts)
	if u.per == 1 {
		return strconv.FormatInt(n, 10)
	}
	return digits(float64(n)/u.per) + u.name
}

func rate(t cell.Throughput) string {
	u := unitOf(t.Value, counts)
	return digits(t.Value/u.per) + u.name + "/s"
}

// Times writes a speed-up: "9.81×".
func Times(ratio float64) string { return digits(ratio) + "×" }

// Age writes how long ago something was.
func Age(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return "just now"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

func percentileOr(ms *float64, p float64) string {
	if ms == nil {
		return fmt.Sprintf("n < %d", measure.EnoughFor(p))
	}
	return Milliseconds(*ms)
}

func repeatMedians(l *cell.Latency) []float64 { return measure.Medians(l.SamplesMS) }

// power writes a small number with the digits asked for: "6.2e-7".
func power(v float64, decimals int) string {
	mantissa, exponent, ok := strings.Cut(strconv.FormatFloat(v, 'e', decimals, 64), "e")
	if !ok {
		return mantissa
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	exponent = strings.TrimLeft(exponent[1:], "0")
	if exponent == "" {
		return mantissa
	}
	return mantissa + "e" + sign + exponent
}

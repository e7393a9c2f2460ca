package report

import (
	"cmp"
	"fmt"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// lettered is a host and the letter that stands for it in a matrix.
type lettered struct {
	letter string
	host   cell.Host
}

// letters are the hosts of a matrix in which more than one speaks; without them
// a reader would compare times of different machines. It is empty for one host.
type letters []lettered

// lettersOf gives letters to the hosts whose results stand in the squares, in
// the order of the hardware list.
func lettersOf(d Document) letters {
	speaks := map[string]bool{}
	for _, r := range d.Matrix.Rows {
		for _, s := range r.Squares {
			if h := hostShown(s, d.Metric); h != "" {
				speaks[h] = true
			}
		}
	}
	if len(speaks) < 2 {
		return nil
	}
	var out letters
	for _, h := range d.Hardware {
		if speaks[h.ID] {
			out = append(out, lettered{letter(len(out)), h.Host})
		}
	}
	return out
}

// letter is a to z, then a number.
func letter(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprint(i + 1)
}

// of returns the letter of the host that the square shows, "" where none does.
func (l letters) of(s matrix.Square, m Metric) string {
	shown := hostShown(s, m)
	for _, x := range l {
		if x.host.ID == shown {
			return x.letter
		}
	}
	return ""
}

// hostShown is the machine on which what the square shows was run: the number's,
// which may be another than the verdict's, or the verdict's where that is shown.
func hostShown(s matrix.Square, m Metric) string {
	if m != ByVerdict {
		if at := numberAt(s, m); at != nil {
			return at.Host
		}
		return ""
	}
	ran := s.Evidence == cell.Measured || s.Evidence == cell.Emulated
	if !ran || !isSet(s) {
		return ""
	}
	return s.Host
}

// numberAt is where the square's number under the metric was taken, nil where
// it has none.
func numberAt(s matrix.Square, m Metric) *matrix.At {
	switch {
	case m == ByLatency && s.Latency != nil:
		return &s.Latency.At
	case m == ByLoad && s.Load != nil:
		return &s.Load.At
	case m == ByMemory && s.Peak != nil:
		return &s.Peak.At
	case m == BySpeedup && s.Speedup != nil:
		return &s.Speedup.At
	}
	return nil
}

// machine tells hosts apart in one line: "AMD EPYC 9654, 16 cores, NVIDIA H200".
func machine(h cell.Host) string {
	var parts []string
	if name := cmp.Or(h.CPU, h.Instance); name != "" { // a phone's browser tells its model at most
		parts = append(parts, name)
	}
	if h.Cores > 0 {
		parts = append(parts, plural(h.Cores, "core"))
	}
	return strings.Join(append(parts, h.Devices...), ", ")
}

package journal

import (
	"encoding/json"
	"fmt"

	"assay/internal/cell"
)

// Here is the machine that imports: what it is called, and the platforms that
// it is known not to have. The zero value knows nothing.
type Here struct {
	Host   string
	Absent map[string]bool
}

// refuse takes out the results that say they were measured on a platform that
// the host they name does not have: by the detection that came with them, and
// by this machine's own where they claim to be of it.
func (s *source) refuse(here Here) {
	absent := s.detectedAbsent()
	if s.header.Host.ID == here.Host {
		for p, gone := range here.Absent {
			absent[p] = absent[p] || gone
		}
	}
	kept := s.lines[:0]
	for _, l := range s.lines {
		if l.line.Result != nil {
			if err := contradiction(*l.line.Result, absent, s.header.Host.ID); err != nil {
				s.problems = append(s.problems, Problem{s.path, l.line.Number, fmt.Errorf("%w: it is not taken", err)})
				continue
			}
		}
		kept = append(kept, l)
	}
	s.lines = kept
}

// detectedAbsent are the platforms that every detection of the file says are
// not there.
func (s *source) detectedAbsent() map[string]bool {
	absent, present := map[string]bool{}, map[string]bool{}
	for _, l := range s.lines {
		var d struct {
			Platforms []struct{ Platform, Status string }
		}
		if l.kind != KindDetection || json.Unmarshal(l.line.Detection, &d) != nil {
			continue
		}
		for _, p := range d.Platforms {
			absent[p.Platform] = absent[p.Platform] || p.Status == "absent"
			present[p.Platform] = present[p.Platform] || p.Status != "absent"
		}
	}
	for p := range present {
		absent[p] = absent[p] && !present[p]
	}
	return absent
}

// contradiction is what a measured result says that cannot be: that it ran on
// what its host does not have, or elsewhere than its cell is for. What was asked
// for is another platform only where the result is of a fallback.
func contradiction(r cell.Result, absent map[string]bool, host string) error {
	if r.Evidence != cell.Measured || r.Verdict == cell.Unavailable {
		return nil
	}
	of := r.Cell.Normal()
	fellBack := r.Fallback != nil && r.Fallback.From != ""
	ran := []cell.Cell{of}
	if r.Actual != nil && r.Actual.Target != "" {
		ran = append(ran, on(r.Actual.Target))
	}
	if !fellBack && r.Requested.Target != "" {
		ran = append(ran, on(r.Requested.Target))
	}
	for _, c := range ran {
		if missing(c, absent) {
			return fmt.Errorf("the result says that %s was measured on %s, which host %s was seen not to have", r.Cell.Model(), c.Target, host)
		}
		if c.Platform != of.Platform && !fellBack {
			return fmt.Errorf("the result contradicts itself: its cell is for %s, and it says that it ran on %s", of.Target, c.Target)
		}
	}
	return nil
}

func on(target string) cell.Cell { return cell.Cell{Target: target}.Normal() }

// missing leaves alone what a detection of devices does not decide: pages,
// whose browser may come later, and emulators.
func missing(c cell.Cell, absent map[string]bool) bool {
	return !c.Engine.InPages() && absent[string(c.Platform)]
}

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
		if r := l.line.Result; r != nil && contradicts(*r, absent) {
			s.problems = append(s.problems, Problem{s.path, l.line.Number,
				fmt.Errorf("the result says that %s was measured on %s, which host %s was seen not to have: it is not taken", r.Cell.Model(), ranOn(*r), s.header.Host.ID)})
			continue
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

// contradicts leaves alone what a detection of devices does not decide: pages,
// whose browser may come later, and emulators.
func contradicts(r cell.Result, absent map[string]bool) bool {
	c := r.Cell.Normal()
	return r.Evidence == cell.Measured && r.Verdict != cell.Unavailable && !c.Engine.InPages() && absent[string(c.Platform)]
}

func ranOn(r cell.Result) string { return r.Cell.Normal().Target }

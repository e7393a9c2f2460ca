package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"assay/internal/cell"
)

// Here is the machine that imports: what it is called, and the platforms that
// it is known not to have. The zero value knows nothing.
type Here struct {
	Host   string
	Absent map[string]bool
}

// Claims checks the measured results of one run against the detections of the
// same run. A run may detect last, so the lines are gathered first; of a result
// only where it claims to have run is kept.
type Claims struct {
	host            string
	absent, present map[string]bool
	claims          []claim
}

// claim is where one measured result says that it ran.
type claim struct {
	id       string
	number   int
	model    string
	of       cell.Cell
	ran      []cell.Cell
	fellBack bool
}

// Refused is a result that cannot be true.
type Refused struct {
	ID     string
	Number int // of its line
	Err    error
}

// NewClaims gathers those of a run on this host.
func NewClaims(host string) *Claims {
	return &Claims{host: host, absent: map[string]bool{}, present: map[string]bool{}}
}

// Add takes the next line.
func (c *Claims) Add(l Line) {
	switch {
	case l.Kind == KindDetection:
		c.detected(l.Detection)
	case l.Result != nil && l.Result.Evidence == cell.Measured && l.Result.Verdict != cell.Unavailable:
		c.claims = append(c.claims, claimOf(l))
	}
}

func (c *Claims) detected(detection json.RawMessage) {
	var d struct {
		Platforms []struct{ Platform, Status string }
	}
	if json.Unmarshal(detection, &d) != nil {
		return
	}
	for _, p := range d.Platforms {
		if p.Status == "absent" {
			c.absent[p.Platform] = true
		} else {
			c.present[p.Platform] = true
		}
	}
}

// Detected reports whether any line was a detection.
func (c *Claims) Detected() bool { return len(c.absent)+len(c.present) > 0 }

// claimOf names every place that the result names. What was asked for is
// another platform only where the result is of a fallback.
func claimOf(l Line) claim {
	r := l.Result
	c := claim{id: l.ID, number: l.Number, model: r.Cell.Model(), of: r.Cell.Normal(), fellBack: r.Fallback != nil && r.Fallback.From != ""}
	c.ran = append(c.ran, c.of)
	if r.Actual != nil && r.Actual.Target != "" {
		c.ran = append(c.ran, on(r.Actual.Target))
	}
	if !c.fellBack && r.Requested.Target != "" {
		c.ran = append(c.ran, on(r.Requested.Target))
	}
	return c
}

func on(target string) cell.Cell { return cell.Cell{Target: target}.Normal() }

// Refused are the results that say they ran on what no detection of the run saw,
// or elsewhere than their cells are for.
func (c *Claims) Refused() []Refused {
	var out []Refused
	for _, x := range c.claims {
		if err := c.contradiction(x); err != nil {
			out = append(out, Refused{x.id, x.number, fmt.Errorf("%w: it is not accepted", err)})
		}
	}
	return out
}

func (c *Claims) contradiction(x claim) error {
	for _, ran := range x.ran {
		if c.missing(ran) {
			return fmt.Errorf("the result says that %s was measured on %s, which host %s was found not to have", x.model, ran.Target, c.host)
		}
		if ran.Platform != x.of.Platform && !x.fellBack {
			return fmt.Errorf("the result contradicts itself: its cell is for %s, and it says that it ran on %s", x.of.Target, ran.Target)
		}
	}
	return nil
}

// missing leaves alone what a detection of devices does not decide: pages,
// whose browser may come later, and emulators.
func (c *Claims) missing(ran cell.Cell) bool {
	p := string(ran.Platform)
	return !ran.Engine.Traits().Pages && c.absent[p] && !c.present[p]
}

// Contradictions are the results of the journal at path that cannot be true.
func Contradictions(ctx context.Context, path string) ([]Refused, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	claims := NewClaims(r.header.Host.ID)
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return claims.Refused(), nil
		}
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, err
		}
		claims.Add(line)
	}
}

// refuse takes out the results that contradict the detection that came with
// them, or this machine's own where they claim to be of it.
func (s *source) refuse(here Here) {
	claims := NewClaims(s.header.Host.ID)
	for _, l := range s.lines {
		claims.Add(l.line)
	}
	if s.header.Host.ID == here.Host {
		for p, gone := range here.Absent {
			if gone {
				claims.absent[p] = true
				delete(claims.present, p)
			}
		}
	}
	refused := map[string]bool{}
	for _, x := range claims.Refused() {
		refused[x.ID] = true
		s.problems = append(s.problems, Problem{s.path, x.Number, x.Err})
	}
	kept := s.lines[:0]
	for _, l := range s.lines {
		if !refused[l.id] {
			kept = append(kept, l)
		}
	}
	s.lines = kept
}

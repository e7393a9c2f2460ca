package lab

import (
	"time"

	"assay/internal/runner"
)

// meter takes the harness's own CPU time over the timed phase: that of this
// process and that of the runner's parent, not the child's.
type meter struct {
	began    time.Time
	ownS     float64
	runnerS  float64
	underway bool
}

// mark notes the begin of a timed phase, or returns the share of a core that
// the harness used since then.
func (m *meter) mark(e runner.Timed) (share float64, ok bool) {
	own, known := processCPU()
	if !known || e.RunnerCPUS == nil {
		return 0, false
	}
	if e.State == "begin" {
		*m = meter{began: time.Now(), ownS: own, runnerS: *e.RunnerCPUS, underway: true}
		return 0, false
	}
	wall := time.Since(m.began).Seconds()
	if !m.underway || wall <= 0 {
		return 0, false
	}
	m.underway = false
	return (own - m.ownS + *e.RunnerCPUS - m.runnerS) / wall, true
}

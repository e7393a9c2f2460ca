package sweep

import (
	"context"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/fleet"
	"assay/internal/platform"
)

// Machine is a fleet as one machine, for planning: auto and all mean what some
// worker has.
type Machine struct{ Office fleet.Office }

// Report is what the living workers have together.
func (m Machine) Report(ctx context.Context) (detect.Report, error) {
	s, err := m.Office.Status(ctx)
	if err != nil {
		return detect.Report{}, err
	}
	r := detect.Report{Schema: detect.Schema, Host: cell.Host{ID: "fleet"}}
	for _, name := range platform.Names() {
		r.Platforms = append(r.Platforms, row(name, s.Workers))
	}
	for _, name := range platform.Plugins() {
		if p := row(name, s.Workers); p.Status == detect.Present {
			r.Platforms = append(r.Platforms, p)
		}
	}
	return r, nil
}

func row(name platform.Name, workers []fleet.WorkerStatus) detect.Platform {
	p := detect.Platform{Platform: name, Status: detect.Absent, Hint: "no worker of the fleet has it"}
	seen := map[string]bool{}
	for _, w := range workers {
		for _, o := range w.Offers {
			if !w.Alive || o.Target.Platform != name || o.Target.Engine == platform.Noop || onlyConverts(o.Target) {
				continue
			}
			p.Status, p.Seen, p.Hint = detect.Present, true, ""
			if p.Engine == nil || o.Target.First() {
				p.Engine = &detect.Engine{Name: o.Target.Engine}
			}
			if !seen[o.Target.Device] {
				seen[o.Target.Device] = true
				p.Devices = append(p.Devices, detect.Device{ID: o.Target.Device, Name: o.Name, Software: o.Software, Browser: o.Target.Browser})
			}
		}
	}
	return p
}

// onlyConverts reports whether who offers a target need not have its platform: an engine whose models can be made anywhere.
func onlyConverts(t platform.Target) bool { return t.Engine.Traits().Anywhere && !t.First() }

// EmulatedInBrowser reports whether all workers that have the target would run
// it on a software adapter.
func (m Machine) EmulatedInBrowser(ctx context.Context, t platform.Target) (bool, error) {
	if t.Platform != platform.WebGPU {
		return false, nil
	}
	r, err := m.Report(ctx)
	if err != nil {
		return false, err
	}
	p, _ := r.Get(t.Platform)
	for _, d := range p.Devices {
		if !d.Software {
			return false, nil
		}
	}
	return len(p.Devices) > 0, nil
}

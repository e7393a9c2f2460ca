package session

import (
	"context"

	"assay/internal/detect"
	"assay/internal/lab"
	"assay/internal/platform"
)

// Has is a target that this machine has.
type Has struct {
	Target   platform.Target
	Name     string // of the device
	Presence lab.Presence
}

// Targets are all that cells can run on here, by the same answers that a plan
// gets. Nothing is installed for it beyond the Python environment; browsers are
// asked where the web environment is there.
func (s *Session) Targets(ctx context.Context) ([]Has, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return nil, err
	}
	report, err := s.Report(ctx)
	if err != nil {
		return nil, err
	}
	w := &web{missing: "no web environment is installed"}
	if _, err := s.o.Environments.PresentWeb(); err == nil {
		if w, err = s.browsers.Get(ctx); err != nil {
			return nil, err
		}
	}
	return found(report, w, machine{report, s.o.Machine.Root, r.Hello().Versions, w, r.env}), nil
}

// found are the targets that a machine has, of all that there are.
func found(report detect.Report, w *web, m lab.Machine) []Has {
	var out []Has
	for _, name := range append(platform.Names(), platform.Plugins()...) {
		p, _ := platform.Get(name)
		row, _ := report.Get(name)
		devices := map[string]string{p.Device: ""}
		for _, d := range row.Devices {
			if p.Device == "" { // it has one, which targets do not name
				devices[""] = d.Name
			} else {
				devices[d.ID] = d.Name
			}
		}
		for _, engine := range p.Engines {
			for device, called := range devices {
				for _, t := range inBrowsers(platform.Target{Platform: name, Device: device, Engine: engine}, w) {
					if here := m.Presence(t); here.Present {
						out = append(out, Has{t.Normal(), called, here})
					}
				}
			}
		}
	}
	return out
}

// inBrowsers is the target in each browser that is here, or as it is.
func inBrowsers(t platform.Target, w *web) []platform.Target {
	if !t.Engine.Traits().Pages {
		return []platform.Target{t}
	}
	var out []platform.Target
	for _, b := range w.browsers {
		t.Browser = b.Kind
		out = append(out, t)
	}
	return out
}

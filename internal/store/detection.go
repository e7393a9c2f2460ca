//go:build cgo

package store

import (
	"encoding/json"
	"fmt"

	"assay/internal/journal"
)

// detected is the part of detect's JSON that has columns.
type detected struct {
	Platforms []found `json:"platforms"`
}

type found struct {
	Platform string   `json:"platform"`
	Status   string   `json:"status"`
	Engine   *engine  `json:"engine"`
	Devices  []device `json:"devices"`
	Hint     string   `json:"hint"`
}

type engine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type device struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	MemoryBytes int64    `json:"memory_bytes"`
	Features    []string `json:"features"`
	Software    *bool    `json:"software"`
}

// addDetection adds a row for each device, or one for a platform without any.
func (p *pending) addDetection(h journal.Header, line journal.Line) error {
	var d detected
	if err := json.Unmarshal(line.Detection, &d); err != nil {
		return fmt.Errorf("the detection cannot be read: %w", err)
	}
	at := line.At
	if at.IsZero() {
		at = h.Run.StartedAt
	}
	for _, f := range d.Platforms {
		if len(f.Devices) == 0 {
			f.Devices = []device{{}}
		}
		for i, dev := range f.Devices {
			p.add("detections", row{
				{"id", fmt.Sprintf("%s.%s.%d", line.ID, f.Platform, i)}, {"run_id", h.Run.ID}, {"host_id", hostID(h, line.Imported)}, {"imported", line.Imported},
				{"platform", f.Platform}, {"status", text(f.Status)},
				{"engine", of(f.Engine, func(e *engine) string { return e.Name })},
				{"engine_version", of(f.Engine, func(e *engine) string { return e.Version })},
				{"device", text(dev.ID)}, {"name", text(dev.Name)}, {"memory_bytes", whole(dev.MemoryBytes)},
				{"features", list(dev.Features)}, {"software", maybe(dev.Software)}, {"hint", text(f.Hint)}, {"detected_at", instant(at)},
			})
		}
	}
	return nil
}

func list(s []string) any {
	if s == nil {
		return nil
	}
	return s
}

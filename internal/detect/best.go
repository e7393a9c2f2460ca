package detect

import (
	"fmt"
	"strings"

	"assay/internal/platform"
)

// Choice is where --platform auto goes, and why.
type Choice struct {
	Target platform.Target `json:"-"`
	Name   string          `json:"target"`
	Device Device          `json:"device"`
	Reason string          `json:"reason"`
}

// Best chooses the platform for a family of models: the first in the family's
// order of preference that is present with a real device. Without one it
// returns false and a reason that says what each lacks.
func Best(r Report, family string) (Choice, bool) {
	order := platform.Preference(family)
	var passed []string
	for _, name := range order {
		p, _ := r.Get(name)
		if d, ok := genuine(p); ok {
			t := target(name, d)
			return Choice{t, t.String(), d, reason(d, name, family, order, passed)}, true
		}
		passed = append(passed, lack(p, name))
	}
	return Choice{Reason: fmt.Sprintf("no platform is present for %s models: %s", named(family), strings.Join(passed, "; "))}, false
}

// genuine returns a present platform's first device that is not an emulator.
func genuine(p Platform) (Device, bool) {
	if p.Status != Present {
		return Device{}, false
	}
	for _, d := range p.Devices {
		if !d.Software {
			return d, true
		}
	}
	return Device{}, false
}

// target leaves the device out where the platform has only one.
func target(name platform.Name, d Device) platform.Target {
	t := platform.Target{Platform: name}
	if info, _ := platform.Get(name); info.Device != "" {
		t.Device = d.ID
	}
	return t.Normal()
}

func reason(d Device, name platform.Name, family string, order []platform.Name, passed []string) string {
	names := make([]string, len(order))
	for i, n := range order {
		names[i] = string(n)
	}
	s := fmt.Sprintf("%s (%s) is the first present in the order for %s models: %s", name, d.Name, named(family), strings.Join(names, " > "))
	if len(passed) > 0 {
		s += " (" + strings.Join(passed, "; ") + ")"
	}
	return s
}

func lack(p Platform, name platform.Name) string {
	if p.Status == Present {
		return fmt.Sprintf("%s has only an emulator", name)
	}
	return fmt.Sprintf("%s is %s", name, orUnnamed(string(p.Status), string(Unknown)))
}

func named(family string) string { return orUnnamed(family, "other") }

// Ranked are all platforms that are here and no emulators, each with its first device,
// in a family's order of preference.
func Ranked(r Report, family string) []Choice {
	var out []Choice
	for _, name := range platform.Preference(family) {
		p, _ := r.Get(name)
		if d, ok := genuine(p); ok {
			t := target(name, d)
			out = append(out, Choice{Target: t, Name: t.String(), Device: d})
		}
	}
	return out
}

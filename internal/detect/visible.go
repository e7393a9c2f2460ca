package detect

import (
	"strconv"
	"strings"
)

// hiding is a variable that hides devices, as it is set.
type hiding struct {
	name, value string
	set         bool
}

func lookHiding(m *Machine, name string) hiding {
	v, ok := m.env(name)
	return hiding{name, v, ok}
}

// visible is a device of the first pass with what a variable may name it by.
type visible struct {
	Device
	uuid string // "" when unknown
}

// apply returns the devices that the variable leaves, in its order: that is
// also the order in which the engine will number them. A number beyond the
// last device, -1, or a name of no device ends the list, as the drivers do; an
// empty value hides all.
func (h hiding) apply(devices []visible) []visible {
	if !h.set {
		return devices
	}
	var left []visible
	for part := range strings.SplitSeq(h.value, ",") {
		i := position(strings.TrimSpace(part), devices)
		if i < 0 {
			break
		}
		left = append(left, devices[i])
	}
	return left
}

func position(name string, devices []visible) int {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n >= len(devices) {
			return -1
		}
		return n
	}
	found := -1
	for i, d := range devices {
		if name == "" || d.uuid == "" || !strings.HasPrefix(strings.ToLower(d.uuid), strings.ToLower(name)) {
			continue
		}
		if found >= 0 {
			return -1 // a prefix of two names is nobody's
		}
		found = i
	}
	return found
}

// detail says what the variable does, for the evidence.
func (h hiding) detail(before, after int) string {
	value := h.name + "=" + h.value
	switch {
	case strings.TrimSpace(h.value) == "":
		return h.name + " is set and empty: it hides all devices"
	case after == before:
		return value
	case after == 0:
		return value + " hides all devices"
	}
	return value + " leaves " + strconv.Itoa(after) + " of " + strconv.Itoa(before) + " devices"
}

// hide applies variables one after another, notes them, and numbers what is left.
func (s *Seen) hide(devices []visible, by ...hiding) {
	for _, d := range devices {
		s.Hardware = append(s.Hardware, d.Name)
	}
	for _, h := range by {
		if !h.set {
			continue
		}
		left := h.apply(devices)
		if len(devices) > 0 || s.Blind { // where nothing is, nothing is hidden
			s.note("environment", h.detail(len(devices), len(left)))
		}
		if len(left) == 0 && len(devices) > 0 {
			s.Missing = h.name + " hides every device"
			s.Hint = "unset " + h.name + ", or name a device in it"
		}
		devices = left
	}
	for i, d := range devices {
		d.ID = strconv.Itoa(i)
		s.Devices = append(s.Devices, d.Device)
	}
}

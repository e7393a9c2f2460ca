package platform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Target says where a cell executes: platform[:device][/engine][@browser].
// The zero device, engine and browser mean the platform's defaults.
type Target struct {
	Platform Name
	Device   string
	Engine   Engine
	Browser  string
}

var targetForm = regexp.MustCompile(`^([a-zA-Z]+)(?::([A-Za-z0-9_.-]{1,40}))?(?:/([a-z-]{1,20}))?(?:@([a-z-]{1,20}))?$`)

// SplitTarget reads a target as a user writes it; what is not written stays
// empty.
func SplitTarget(s string) (Target, error) {
	m := targetForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return Target{}, fmt.Errorf("target %q is not of the form platform[:device][/engine][@browser]", s)
	}
	p, err := Parse(m[1])
	if Engine(strings.ToLower(m[1])) == Wasm {
		return Target{}, fmt.Errorf("wasm is an engine of the cpu: ask for cpu/wasm")
	}
	if err != nil {
		return Target{}, err
	}
	t := Target{p.Name, m[2], Engine(m[3]), m[4]}
	if t.Engine != "" && !p.HasEngine(t.Engine) {
		return Target{}, fmt.Errorf("engine %q does not run on %s: its engines are %s", t.Engine, p.Name, Join(p.Engines))
	}
	return t, nil
}

// ParseTarget reads a target as a user writes it and fills in the defaults.
func ParseTarget(s string) (Target, error) {
	t, err := SplitTarget(s)
	if err != nil {
		return Target{}, err
	}
	t = t.Normal()
	if t.Browser != "" && !t.Engine.Traits().Pages {
		return Target{}, fmt.Errorf("%s does not run in a browser: leave @%s out, or ask for webgpu, webnn or cpu/wasm", Target{Platform: t.Platform, Device: t.Device, Engine: t.Engine}, t.Browser)
	}
	return t, nil
}

// Normal fills in the platform's default device and engine.
func (t Target) Normal() Target {
	p, ok := Get(t.Platform)
	if !ok {
		return t
	}
	if t.Device == "" {
		t.Device = p.Device
	}
	if t.Engine == "" && len(p.Engines) > 0 {
		t.Engine = p.Engines[0]
	}
	return t
}

// DTypes lists what a cell can be asked for there, the default first.
func (t Target) DTypes() []DType {
	if own := t.Engine.Traits().DTypes; own != nil {
		return slices.Clone(own)
	}
	if p, ok := Get(t.Platform); ok {
		return slices.Clone(p.DTypes)
	}
	return []DType{FP32}
}

// First reports whether the target's engine is its platform's own.
func (t Target) First() bool {
	p, ok := Get(t.Platform)
	return ok && t.Engine == p.Engines[0]
}

// OnProcessor reports whether what runs there multiplies on this machine's own
// processor within a bound on its instruction sets.
func (t Target) OnProcessor() bool {
	t = t.Normal()
	at := t.Engine.Traits().Processor
	return at.Platform != "" && t.Platform == at.Platform && (at.Device == "" || t.Device == at.Device)
}

// HasDType reports whether a cell can be asked for d there.
func (t Target) HasDType(d DType) bool { return slices.Contains(t.DTypes(), d) }

// DType is what a cell runs in there when nobody says.
func (t Target) DType() DType { return t.DTypes()[0] }

// derivable are the platforms of which torch's own list of kernels tells, on
// any machine, which operators they have.
var derivable = []Name{ROCm, MPS}

// Derives reports whether a verdict on the target can be derived where the
// target is not there.
func (t Target) Derives() bool {
	t = t.Normal()
	return t.Engine == Torch && slices.Contains(derivable, t.Platform)
}

// String writes the target in its shortest form: what is a default is left out.
func (t Target) String() string {
	p, _ := Get(t.Platform)
	s := string(t.Platform)
	if t.Device != "" && t.Device != p.Device {
		s += ":" + t.Device
	}
	if t.Engine != "" && (len(p.Engines) == 0 || t.Engine != p.Engines[0]) {
		s += "/" + string(t.Engine)
	}
	if t.Browser != "" {
		s += "@" + t.Browser
	}
	return s
}

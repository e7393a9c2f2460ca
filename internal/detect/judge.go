package detect

import (
	"fmt"

	"assay/internal/platform"
)

// setupHint is what to do when no Python environment was there to ask.
const setupHint = `run "assay setup" to install the engines, or name a Python that has them with --python`

// Judge puts both passes together.
func Judge(s Sighting, a Answers) Report {
	r := Report{
		Schema: Schema, Host: host(s), CPU: s.CPU, Memory: s.Memory,
		Accelerators: s.Accelerators, Browsers: s.Browsers, Environment: s.Environment,
	}
	for _, probe := range Probes() {
		r.Platforms = append(r.Platforms, finish(probe.Judge(s, a)))
	}
	if r.Accelerators == nil {
		r.Accelerators = []Accelerator{}
	}
	if r.Browsers == nil {
		r.Browsers = []Browser{}
	}
	return r
}

// finish applies what holds for every platform: one without a runner cannot
// run cells, whatever the machine has; and lists are never null.
func finish(p Platform) Platform {
	if info, _ := platform.Get(p.Platform); !info.Runs && (p.Status != Absent || len(p.Devices) > 0) {
		p.Status = Absent
		p.Hint = fmt.Sprintf("this version of Assay does not run cells on %s yet", p.Platform)
	}
	if p.Devices == nil {
		p.Devices = []Device{}
	}
	for i := range p.Devices {
		if p.Devices[i].Features == nil {
			p.Devices[i].Features = []string{}
		}
	}
	if p.Evidence == nil {
		p.Evidence = []Evidence{}
	}
	return p
}

func (p *Platform) note(source, detail string) {
	p.Evidence = append(p.Evidence, Evidence{source, detail})
}

// absentFor says what is missing and what to do about it. An engine that
// reaches no device is none of the platform's.
func (p *Platform) absentFor(missing, hint string) {
	p.Status, p.Engine, p.Hint = Absent, nil, hint
	p.note("missing", missing)
}

func (p Platform) absent(missing, hint string) Platform {
	p.absentFor(missing, hint)
	return p
}

// ask takes a probe's answer and notes why there is none.
func (p *Platform) ask(a Answers, probe, title string) (Answer, bool) {
	answer, asked := a[probe]
	switch {
	case !asked:
		return answer, false
	case answer.Error != "":
		p.note(probe, title+" could not be asked: "+answer.Error)
	case answer.Absent != "":
		p.note(probe, answer.Absent)
	}
	return answer, answer.Data != nil
}

// need asks the engine of a platform. Without an answer the platform is
// unknown, without the library absent; with one, then goes on.
func (p *Platform) need(a Answers, probe string, then func(Answer)) {
	p.Status = Unknown
	answer, ok := p.ask(a, probe, probe)
	_, asked := a[probe]
	switch {
	case !asked:
		p.note(probe, "not asked: there is no Python environment yet")
		p.Hint = setupHint
	case answer.Absent != "":
		p.Status, p.Hint = Absent, setupHint
	case ok:
		then(answer)
	}
	if p.Status == Unknown && p.Hint == "" {
		p.Hint = fmt.Sprintf("run detect again with --fresh; if %s fails again, its installation or a driver is broken", probe)
	}
}

// needTorch asks torch and sets the engine.
func (p *Platform) needTorch(a Answers, then func(torchAnswer)) {
	p.need(a, "torch", func(answer Answer) {
		var t torchAnswer
		if !answer.into(&t) || t.Version == "" {
			p.note("torch", "its answer does not say a version")
			return
		}
		p.Engine = &Engine{platform.Torch, t.Version}
		p.note("torch", "torch "+t.Version)
		then(t)
	})
}

package detect

import (
	"fmt"
	"maps"
	"slices"

	"assay/internal/platform"
)

// setupHint is what to do when no Python environment was there to ask.
const setupHint = `run "assay setup" to install the engines, or name a Python that has them with --python`

// firstHint is what to do when the second pass was left out on purpose.
const firstHint = "not asked: this was the first pass only; without --look the engines are asked"

// JudgeFirst judges by the first pass alone, when the second was left out on
// purpose. What only an engine can tell is unknown, and the hint says so.
func JudgeFirst(s Sighting) Report {
	skipped := Answers{}
	for _, q := range append(Questions(), BrowserQuestions(s.Browsers)...) {
		skipped[q.Probe] = Answer{Skipped: true}
	}
	return Judge(s, skipped)
}

// Judge puts both passes together. Nil answers mean that there is no Python
// environment to ask. The sighting stays as it is: it may be judged again, and
// by others at the same time.
func Judge(s Sighting, a Answers) Report {
	s = s.copied()
	s.CPU = s.CPU.without(s.Processor.Off(a.instructions().Lowered))
	r := Report{
		Schema: Schema, Host: host(s), CPU: s.CPU, Memory: s.Memory,
		Accelerators: s.Accelerators, Browsers: answered(s.Browsers, a), Environment: s.Environment,
	}
	for _, probe := range Probes() {
		r.Platforms = append(r.Platforms, finish(probe.Judge(s, a), s.Platforms[probe.Platform()]))
	}
	here, others := shown(judgePlugins(s, a))
	r.Platforms, r.Plugins = append(r.Platforms, here...), others
	if r.Accelerators == nil {
		r.Accelerators = []Accelerator{}
	}
	return r
}

// copied has devices, features and evidence of its own, which probes add to.
func (s Sighting) copied() Sighting {
	s.Platforms = maps.Clone(s.Platforms)
	for name, seen := range s.Platforms {
		seen.Devices, seen.Evidence = slices.Clone(seen.Devices), slices.Clone(seen.Evidence)
		for i, d := range seen.Devices {
			seen.Devices[i].Features = slices.Clone(d.Features)
		}
		s.Platforms[name] = seen
	}
	return s
}

// finish applies what holds for every platform: what was seen of it, that one
// without a runner cannot run cells, and that lists are never null.
func finish(p Platform, seen Seen) Platform {
	p.Seen = p.Seen || len(seen.Hardware) > 0 || slices.ContainsFunc(p.Devices, p.proves)
	if info, _ := platform.Get(p.Platform); !info.Runs {
		p.withoutRunner()
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

// proves reports whether a device shows that the platform is there. OpenVINO's
// CPU does not by itself: it is any processor, until OpenVINO lists it.
func (p Platform) proves(d Device) bool {
	return p.Platform != platform.OpenVINO || d.ID != "CPU" || p.Engine != nil
}

// withoutRunner judges a platform that this version of Assay does not run
// cells on: what was seen is of no use yet, and no setup would change that.
func (p *Platform) withoutRunner() {
	notYet := fmt.Sprintf("this version of Assay does not run cells on %s yet", p.Platform)
	switch {
	case p.Seen || p.Status == Present:
		p.Status, p.Hint = Absent, notYet
	case p.Hint == setupHint && p.Status == Absent:
		p.Hint = "its engine is not installed, and " + notYet
	case p.Hint == setupHint:
		p.Hint = notYet
	}
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
	case answer.Skipped:
		p.note(probe, "not asked: this was the first pass only")
		p.Hint = firstHint
	case answer.Absent != "":
		p.Status, p.Hint = Absent, setupHint
	case ok:
		then(answer)
	}
	if p.Status == Unknown && p.Hint == "" {
		p.Hint = fmt.Sprintf("run detect again with --fresh; if %s fails again, its installation or a driver is broken", probe)
	}
}

// noteBlind says why nothing was seen of a platform that stays unknown.
func (p *Platform) noteBlind(s Sighting) {
	if p.Status != Unknown || len(p.Devices) > 0 || !s.Platforms[p.Platform].Blind {
		return
	}
	if s.OS == "windows" {
		p.note("unseen", "Windows has no file that lists its GPUs: only the driver or an engine can tell")
		return
	}
	p.note("unseen", "there is no /sys/bus/pci here to look for GPUs in")
}

// needTorch asks torch and sets the engine.
func (p *Platform) needTorch(a Answers, then func(torchAnswer)) {
	p.need(a, "torch", func(answer Answer) {
		var t torchAnswer
		if !answer.into(&t) || t.Version == "" {
			p.note("torch", "its answer gives no version")
			return
		}
		p.Engine = &Engine{platform.Torch, t.Version}
		p.note("torch", "torch "+t.Version)
		then(t)
	})
}

package plan

import (
	"context"
	"fmt"
	"slices"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/platform"
)

// The names that stand for targets of the machine's choosing.
const (
	Auto = "auto"
	All  = "all"
)

// targets are the asked ones; auto chooses by the model's family.
func (p *Planner) targets(ctx context.Context, names []string, m cell.Cell) ([]platform.Target, error) {
	var out []platform.Target
	for _, name := range orDefault(names, Auto) {
		switch name {
		case All:
			all, err := p.everyTarget(ctx)
			if err != nil {
				return nil, err
			}
			out = append(out, all...)
		case Auto:
			best, err := p.bestTarget(ctx, m)
			if err != nil {
				return nil, err
			}
			out = append(out, best)
		default:
			t, err := ParseTarget(name)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// ParseTarget reads a target that some machine could have.
func ParseTarget(name string) (platform.Target, error) {
	t, err := platform.ParseTarget(name)
	if err != nil {
		return t, refuse("%w (or auto, or all)", err)
	}
	if err := detect.Known(t); err != nil {
		return t, &RequestError{err}
	}
	return t, nil
}

// Platforms reads names of platforms, all and auto among them: each once, sorted.
// present are those of this machine, which auto stands for.
func Platforms(names []string, present func() ([]platform.Name, error)) ([]platform.Name, error) {
	var out []platform.Name
	for _, name := range names {
		switch name {
		case All:
			out = append(out, platform.Names()...)
		case Auto:
			here, err := present()
			if err != nil {
				return nil, err
			}
			out = append(out, here...)
		default:
			p, err := platform.Parse(name)
			if err != nil {
				return nil, refuse("%w (or all, or auto)", err)
			}
			if p.Name.IsPlugin() {
				return nil, refuse("%s is reached by a plug-in of torch, and no files are generated for those: the platforms are %s", p.Name, platform.Join(platform.Names()))
			}
			out = append(out, p.Name)
		}
	}
	if len(out) == 0 {
		return nil, refuse("--platform names no platform: give all, auto, or names")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// bestTarget is where auto goes for a model, by its family, and says so once: a
// verdict on the best platform is none on the CPU.
func (p *Planner) bestTarget(ctx context.Context, m cell.Cell) (platform.Target, error) {
	report, err := p.Machine.Report(ctx)
	if err != nil {
		return platform.Target{}, err
	}
	best, ok := detect.Best(report, m.Family)
	if !ok {
		cpu, _ := report.Get(platform.CPU)
		return platform.Target{}, fmt.Errorf("%s; for the CPU: %s", best.Reason, cpu.Hint)
	}
	if other, ok := p.passOver(report, best, m); ok {
		best = other
	}
	p.once(best.Target.String(), "platform auto is %s here: %s (--platform names another)", best.Target, best.Reason)
	return best.Target, nil
}

// passOver is where auto goes for a model that is known to fail on the best
// platform; ok is false where it is not known to, or fails everywhere.
func (p *Planner) passOver(report detect.Report, best detect.Choice, m cell.Cell) (detect.Choice, bool) {
	if p.RuledOut == nil {
		return best, false
	}
	for range report.Platforms {
		why := p.RuledOut(m.Type, best.Target)
		if why == "" {
			return best, true
		}
		other, ok := detect.Best(report.Without(best.Target.Platform), m.Family)
		if !ok {
			break
		}
		p.once(m.Type+" "+best.Target.String(), "platform auto passes over %s for %s: %s", best.Target, m.Type, why)
		report, best = report.Without(best.Target.Platform), other
	}
	return best, false
}

// once says something the first time.
func (p *Planner) once(key, format string, args ...any) {
	if p.said[key] {
		return
	}
	if p.said == nil {
		p.said = map[string]bool{}
	}
	p.said[key] = true
	p.say(format, args...)
}

// everyTarget is the default target of each platform, less what is not worth
// running unless it is asked for by name.
func (p *Planner) everyTarget(ctx context.Context) ([]platform.Target, error) {
	var out []platform.Target
	for _, name := range platform.Names() {
		t := platform.Target{Platform: name}.Normal()
		slow, err := p.Machine.EmulatedInBrowser(ctx, t)
		if err != nil {
			return nil, err
		}
		if !slow {
			out = append(out, t)
		} else if p.Log != nil {
			p.Log.Info("left out of all: the browser's adapter is software, and slow; ask for it by name", "platform", name)
		}
	}
	return out, nil
}

// takeGraph is the target with an engine that runs graphs, for a model that is
// one: torch cannot.
func takeGraph(m cell.Cell, t platform.Target) (platform.Target, error) {
	if m.Type != cell.ONNX || t.Engine.Traits().Graphs {
		return t, nil
	}
	p, _ := platform.Get(t.Platform)
	if e := p.GraphEngine(); e != "" {
		t.Engine = e
		return t, nil
	}
	return t, refuse("%s is a graph, and %s has no engine that runs one: name cpu, cuda, openvino or qnn", m.Checkpoint, t)
}

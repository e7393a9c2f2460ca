package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/lab"
	"assay/internal/platform"
	"assay/internal/runner"
)

// Report is what both passes of detection found, the second one asked in
// children of the runner, which has torch imported already.
func (s *Session) Report(ctx context.Context) (detect.Report, error) { return s.report.Get(ctx) }

func (s *Session) detect(ctx context.Context) (detect.Report, error) {
	if s.o.Answers != nil {
		return detect.Judge(s.Sighting(), s.o.Answers), nil
	}
	r, err := s.runner(ctx, false)
	if err != nil {
		return detect.Report{}, err
	}
	child := detect.NewCache(s.cache(""), r.env.Python, s.Sighting()).Around(forked(r))
	answers := detect.Confirm(ctx, child, detect.Questions()).WithInstructions(r.env.Instructions(ctx))
	return detect.Judge(s.Sighting(), answers), context.Cause(ctx) // half an answer is none
}

// forked asks a probe in a child of the runner.
func forked(r runner.Runner) detect.Child {
	return func(ctx context.Context, probe string) ([]byte, error) {
		answer, raised, err := ask(ctx, r, runner.Job{Kind: runner.ProbeJob, Options: map[string]any{"name": probe}})
		if raised != nil {
			return nil, fmt.Errorf("%s: %s", raised.Type, raised.Message)
		}
		return answer, err
	}
}

// where is the machine as the plan needs it: a plan for the CPU alone asks no
// driver anything, because the runner's own torch answers.
func (s *Session) where(ctx context.Context, plan cell.Plan, r *open, w *web) (lab.Machine, error) {
	for _, c := range plan.Cells {
		if c.Platform != platform.CPU {
			report, err := s.Report(ctx)
			return machine{report, s.o.Machine.Root, r.Hello().Versions, w, r.env}, err
		}
	}
	answers := detect.Answers{}
	if v := r.Hello().Versions["torch"]; v != "" {
		b, err := json.Marshal(map[string]string{"version": v})
		if err != nil {
			return nil, err
		}
		answers["torch"] = detect.Answer{Data: b}
	} else {
		answers["torch"] = detect.Answer{Absent: r.Hello().Missing["torch"]}
	}
	return machine{detect.Judge(s.Sighting(), answers), s.o.Machine.Root, r.Hello().Versions, w, r.env}, nil
}

// machine answers the lab from a detection report and the libraries that the
// runner has.
type machine struct {
	report    detect.Report
	root      fs.FS // of the machine; nil tells nothing of what is free
	libraries map[string]string
	web       *web
	env       environment.Environment
}

// chosen are devices that are no device: the platform chooses one of its own
// when the model is compiled. They are there when any is, the first of which
// stands for them.
var chosen = map[platform.Name]string{platform.OpenVINO: "AUTO"}

// Presence looks the target's device up.
func (m machine) Presence(t platform.Target) lab.Presence {
	t = t.Normal()
	if t.Engine == platform.Noop {
		return lab.Presence{Present: true, Threads: 1}
	}
	if t.Engine.Traits().Pages {
		return m.web.presence(t)
	}
	engine, isSecond := t.Engine.Traits(), !t.First()
	if isSecond && len(engine.Libraries) > 0 && m.libraries[engine.Libraries[0]] == "" {
		return lab.Presence{Reason: fmt.Sprintf("%s is not installed in the Python environment", engine.Libraries[0])}
	}
	if engine.Anywhere {
		return lab.Presence{Present: true}
	}
	p, ok := m.report.Get(t.Platform)
	if !ok || p.Status != detect.Present {
		return lab.Presence{Reason: reason(p, t), Derives: t.Derives()}
	}
	if p.Engine != nil && p.Engine.Name != t.Engine && !isSecond {
		return lab.Presence{Reason: fmt.Sprintf("this version of Assay does not run the engine %s on %s yet", t.Engine, t.Platform)}
	}
	for _, d := range p.Devices {
		if t.Device == "" || d.ID == t.Device || t.Device == chosen[t.Platform] {
			here := presence(d)
			here.Restricted = restricted(m.env, t)
			if t.Platform == platform.OpenVINO {
				here.DTypes = openvinoDTypes(d.Features)
			}
			return here
		}
	}
	return lab.Presence{Reason: fmt.Sprintf("there is no device %s: the devices are %s", t.Device, ids(p.Devices))}
}

// openvinoDTypes are what OpenVINO says that a device computes in; weights of
// fewer bits are no matter of the device's.
func openvinoDTypes(capabilities []string) []platform.DType {
	var out []platform.DType
	for _, d := range []platform.DType{platform.FP32, platform.FP16, platform.BF16, platform.INT8} {
		if slices.Contains(capabilities, string(d)) {
			out = append(out, d)
		}
	}
	if out == nil {
		return nil
	}
	return append(out, platform.W8, platform.W4)
}

func presence(d detect.Device) lab.Presence {
	here := lab.Presence{Present: true, Software: d.Software}
	if d.MemoryBytes != nil {
		here.MemoryBytes = *d.MemoryBytes
	}
	if d.Settings != nil {
		here.Threads = d.Settings.Threads
	}
	return here
}

// reason is what is missing, as detection says it. An engine's own words come
// first there, and what they mean for this machine last.
func reason(p detect.Platform, t platform.Target) string {
	for _, e := range slices.Backward(p.Evidence) {
		if e.Source == "missing" {
			return e.Detail
		}
	}
	if p.Hint != "" {
		return p.Hint
	}
	return fmt.Sprintf("%s is %s", t.Platform, detect.Absent)
}

func ids(ds []detect.Device) string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.ID
	}
	return strings.Join(out, ", ")
}

// reserve is left to the rest of the machine.
const reserve = 1 << 30

// FreeBytes is what new children may use: the kernel's estimate of available
// memory, within a control group's limit, less a reserve. 0 where nothing is told.
func (m machine) FreeBytes() int64 {
	free := m.report.Memory.Usable
	if n, ok := available(m.root); ok && (free == 0 || n < free) {
		free = n
	}
	return free - min(reserve, free/3)
}

// available is the kernel's own estimate, which Linux alone gives.
func available(root fs.FS) (int64, bool) {
	if root == nil {
		return 0, false
	}
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "MemAvailable:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

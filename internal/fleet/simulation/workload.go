package simulation

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet/placement"
	"assay/internal/journal"
	"assay/internal/platform"
)

// Sample is what a journal says a cell took.
type Sample struct {
	Cell    cell.Cell
	Seconds float64 // all phases of its child, and what the harness added
	Device  int64   // bytes on the device
}

// Samples reads the durations of journals. Results that ran nothing have none.
func Samples(files []string) ([]Sample, error) {
	var out []Sample
	for _, file := range files {
		more, err := samplesOf(file)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	if len(out) == 0 {
		return nil, errors.New("the journals have no durations")
	}
	return out, nil
}

func samplesOf(file string) ([]Sample, error) {
	r, err := journal.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []Sample
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if line.Kind != journal.KindResult {
			continue
		}
		if s, ok := sampleOf(line.Result); ok {
			out = append(out, s)
		}
	}
}

func sampleOf(r *cell.Result) (Sample, bool) {
	s := Sample{Cell: r.Cell.Normal()}
	for _, ms := range r.PhasesMS {
		s.Seconds += ms / 1000
	}
	if r.OverheadMS != nil {
		s.Seconds += *r.OverheadMS / 1000
	}
	if m := r.Memory; m != nil && m.DevicePeakBytes != nil {
		s.Device = *m.DevicePeakBytes
	}
	return s, s.Seconds > 0
}

// Setting is how workloads are drawn.
type Setting struct {
	Name    string
	Workers int
	Tasks   int
	Timed   float64 // share of tasks that are timed
	New     float64 // share of the models on a target that never ran there: their tasks' past is unknown
	Noise   float64 // by what a task differs from its past: the deviation of the ratio's logarithm
}

// String describes the setting.
func (s Setting) String() string {
	return fmt.Sprintf("%d machines, %d tasks, %.0f %% timed, %.0f %% never run there before, others off by %.0f %%", s.Workers, s.Tasks, 100*s.Timed, 100*s.New, 100*s.Noise)
}

// Settings are those that are reported. They were fixed before any of them was run.
func Settings() []Setting {
	return []Setting{
		{Name: "lab", Workers: 6, Tasks: 300, Timed: 0.1, New: 0.2, Noise: 0.2},
		{Name: "office", Workers: 16, Tasks: 1000, Timed: 0.1, New: 0.2, Noise: 0.2},
		{Name: "office, functional", Workers: 16, Tasks: 1000, New: 0.2, Noise: 0.2},
		{Name: "office, all known", Workers: 16, Tasks: 1000, Timed: 0.1},
		{Name: "hall", Workers: 64, Tasks: 4000, Timed: 0.1, New: 0.2, Noise: 0.2},
	}
}

// machine is a kind of hardware that a fleet is mixed of.
type machine struct {
	name    string
	slots   int
	speed   float64 // of the processor; the journals' machine is 1
	cuda    float64 // of the GPU; 0 is none
	vram    int64
	targets []string // besides cuda
	share   float64
}

const gib = 1 << 30

// graphs are the targets of a processor with these beside them.
func graphs(more ...string) []string {
	return append([]string{"cpu", "cpu/onnxruntime", "openvino"}, more...)
}

// machines are the mix: few servers, some workstations, many laptops and boards.
var machines = []machine{
	{"server", 8, 1, 1, 141 * gib, graphs("qnn", "webnn", "cpu/wasm"), 0.2},
	{"workstation", 4, 1.2, 0.5, 24 * gib, graphs("qnn", "webnn", "cpu/wasm"), 0.25},
	{"laptop", 2, 0.6, 0, 0, graphs("webnn", "cpu/wasm"), 0.35},
	{"board", 1, 0.25, 0, 0, graphs("qnn"), 0.2},
}

// Draw makes a workload. The first machine is a server, so that every task has a place.
func (s Setting) Draw(samples []Sample, seed uint64) (*Workload, error) {
	rng := rand.New(rand.NewPCG(seed, 25)) //nolint:gosec // a workload that can be drawn again
	load := &Workload{}
	for i := range s.Workers {
		m := machines[0]
		if i > 0 {
			m = pick(rng)
		}
		w, err := m.worker(fmt.Sprintf("%s-%d", m.name, i), rng)
		if err != nil {
			return nil, err
		}
		load.Workers = append(load.Workers, w)
	}
	known := s.past(samples, rng)
	for i := range s.Tasks {
		load.Jobs = append(load.Jobs, s.job(i, samples[rng.IntN(len(samples))], known, rng))
	}
	return load, nil
}

// past is what a coordinator has learnt: everything but the models that are new on a target.
func (s Setting) past(samples []Sample, rng *rand.Rand) *placement.History {
	h := &placement.History{}
	fresh := map[[2]string]bool{}
	for _, from := range samples {
		key := [2]string{from.Cell.Model(), from.Cell.Target}
		if _, drawn := fresh[key]; !drawn {
			fresh[key] = rng.Float64() < s.New
		}
		if !fresh[key] {
			h.Learn(from.Cell, cell.Functional, 1, time.Duration(from.Seconds*float64(time.Second)))
		}
	}
	return h
}

func (s Setting) job(i int, from Sample, known *placement.History, rng *rand.Rand) Job {
	expect, guess := known.Expect(from.Cell, cell.Functional)
	return Job{Task: placement.Task{
		ID:     fmt.Sprintf("task-%d", i),
		Needs:  placement.Needs{Target: from.Cell.Where().Normal(), DeviceMemory: from.Device},
		Expect: expect, Guess: guess, Timed: rng.Float64() < s.Timed,
	}, Takes: from.Seconds * math.Exp(s.Noise*rng.NormFloat64())}
}

func pick(rng *rand.Rand) machine {
	x := rng.Float64()
	for _, m := range machines {
		if x -= m.share; x < 0 {
			return m
		}
	}
	return machines[len(machines)-1]
}

// worker is one machine of the kind; no two are equally fast.
func (m machine) worker(id string, rng *rand.Rand) (placement.Worker, error) {
	w := placement.Worker{ID: id, Host: id, Slots: m.slots}
	own := math.Exp(0.1 * rng.NormFloat64())
	names, speeds := m.targets, map[string]float64{}
	if m.cuda > 0 {
		names = append(slices.Clone(names), "cuda")
		speeds["cuda"] = m.cuda
	}
	for _, name := range names {
		t, err := platform.ParseTarget(name)
		if err != nil {
			return w, err
		}
		target := placement.Target{Target: t, Speed: m.speed * own}
		if at, ok := speeds[name]; ok {
			target.Speed, target.Memory = at*own, m.vram
		}
		w.Targets = append(w.Targets, target)
	}
	return w, nil
}

package live

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Sample is how busy and how warm the machine is. Nil is unknown, never 0.
type Sample struct {
	At            time.Time `json:"at"`
	CPU           *float64  `json:"cpu"` // busy share of all processors, 0 to 1
	MemoryBytes   *int64    `json:"memory_bytes"`
	MemoryOfBytes *int64    `json:"memory_of_bytes"`
	TemperatureC  *float64  `json:"temperature_c"` // the warmest sensor of the processor
	Devices       []Device  `json:"devices"`       // accelerators
}

// Device is how an accelerator is.
type Device struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Utilisation  *float64 `json:"utilisation"` // 0 to 1
	TemperatureC *float64 `json:"temperature_c"`
	MemoryBytes  *int64   `json:"memory_bytes"`
	OfBytes      *int64   `json:"memory_of_bytes"`
}

// Gauge reads a machine's state: what Linux shows of its processors in /proc and
// /sys, and what Devices says of accelerators.
type Gauge struct {
	Root    fs.FS // of the machine; nil tells nothing
	Now     func() time.Time
	Devices func(context.Context) []Device // nil knows of none

	busy, total uint64 // as they were read last
}

// Read is the state now; the share of the processors is since the last call.
func (g *Gauge) Read(ctx context.Context) Sample {
	s := Sample{At: g.Now().UTC(), Devices: []Device{}}
	if g.Root != nil {
		s.CPU, s.TemperatureC = g.cpu(), g.temperature()
		s.MemoryBytes, s.MemoryOfBytes = g.memory()
	}
	if g.Devices != nil {
		s.Devices = append(s.Devices, g.Devices(ctx)...)
	}
	return s
}

// Tell adds a sample to a log twice a second while busy says so, until ctx ends.
func (g *Gauge) Tell(ctx context.Context, every time.Duration, busy func() []*Log) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		logs := busy()
		if len(logs) == 0 {
			continue
		}
		s := g.Read(ctx)
		for _, l := range logs {
			l.Add("sample", s)
		}
	}
}

// Logs are those that samples go to: of the runs in progress, and that of all.
func (b *Runs) Logs() []*Log {
	var out []*Log
	for _, r := range b.List() {
		if r.State() == Running {
			out = append(out, r.log)
		}
	}
	if out == nil {
		return nil
	}
	return append(out, b.All)
}

// cpu is the busy share since the last call: /proc/stat counts ticks by what they
// were spent on, idle and waiting for disks in the fourth and fifth place.
func (g *Gauge) cpu() *float64 {
	text, err := fs.ReadFile(g.Root, "proc/stat")
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first)
	if len(fields) < 6 || fields[0] != "cpu" {
		return nil
	}
	var busy, total uint64
	for i, f := range fields[1:min(len(fields), 9)] { // guest time is in user time already
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return nil
		}
		total += n
		if i != 3 && i != 4 {
			busy += n
		}
	}
	before, all := g.busy, g.total
	g.busy, g.total = busy, total
	if all == 0 || total <= all || busy < before {
		return nil
	}
	share := min(1, float64(busy-before)/float64(total-all))
	return &share
}

func (g *Gauge) memory() (used, of *int64) {
	text, err := fs.ReadFile(g.Root, "proc/meminfo")
	if err != nil {
		return nil, nil
	}
	found := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				found[f[0]] = kib << 10
			}
		}
	}
	total, free := found["MemTotal:"], found["MemAvailable:"]
	if total == 0 || free == 0 {
		return nil, nil
	}
	taken := total - free
	return &taken, &total
}

// sensors are the names under which drivers of processors report temperatures.
var sensors = map[string]bool{"coretemp": true, "k10temp": true, "zenpower": true, "cpu_thermal": true, "cpu-thermal": true, "x86_pkg_temp": true, "soc_thermal": true}

// temperature is the warmest of the processor's sensors, in thousandths of a degree
// there.
func (g *Gauge) temperature() *float64 {
	var warmest *float64
	look := func(pattern, name string) {
		files, _ := fs.Glob(g.Root, pattern)
		for _, f := range files {
			of, err := fs.ReadFile(g.Root, path.Join(path.Dir(f), name))
			if err != nil || !sensors[strings.TrimSpace(string(of))] {
				continue
			}
			text, err := fs.ReadFile(g.Root, f)
			if err != nil {
				continue
			}
			if milli, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
				if c := milli / 1000; warmest == nil || c > *warmest {
					warmest = &c
				}
			}
		}
	}
	look("sys/class/hwmon/hwmon*/temp*_input", "name")
	look("sys/class/thermal/thermal_zone*/temp", "type")
	return warmest
}

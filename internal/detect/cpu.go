package detect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/platform"
)

// CPU is what is known about the processor.
type CPU struct {
	Model    string   `json:"model"`
	Vendor   string   `json:"vendor,omitempty"`
	Arch     string   `json:"arch"`
	Cores    int      `json:"cores"` // physical, of the whole machine
	CPUs     int      `json:"cpus"`  // logical, of the whole machine
	Quota    *float64 `json:"quota"` // CPUs' worth of time that the control group allows; nil is no limit
	Usable   int      `json:"usable_cores"`
	Affinity int      `json:"usable_cpus"` // logical CPUs that this process may run on
	Features []string `json:"features"`
	// NotExecuted are features that it announces and cannot execute.
	NotExecuted []string     `json:"features_not_executed,omitempty"`
	Caches      []CacheLevel `json:"caches"`
}

// CacheLevel is one of one core's caches.
type CacheLevel struct {
	Level     int    `json:"level"`
	Type      string `json:"type"` // data, instruction, unified
	SizeBytes int64  `json:"size_bytes"`
}

// Has reports whether the processor has a feature of Assay's list.
func (c CPU) Has(feature string) bool { return slices.Contains(c.Features, feature) }

type cpuProbe struct{}

func (cpuProbe) Platform() platform.Name { return platform.CPU }

func (cpuProbe) Look(m *Machine) Seen {
	c, mem := lookCPU(m), lookMemory(m)
	s := Seen{Devices: []Device{{ID: "cpu", Name: orUnnamed(c.Model, c.Arch+" processor"), MemoryBytes: positive(mem.Usable), Features: c.Features}}}
	s.note("cpu", cpuDetail(c))
	if detail := mem.detail(); detail != "" {
		s.note("memory", detail)
	}
	return s
}

func (cpuProbe) Judge(s Sighting, a Answers) Platform {
	seen := s.Platforms[platform.CPU]
	p := Platform{Platform: platform.CPU, Devices: seen.Devices, Evidence: seen.Evidence}
	p.Devices[0].Features, p.Devices[0].Settings = s.CPU.Features, cpuSettings(s.CPU)
	if said := s.Processor.Explain(a.instructions()); said != "" {
		p.note(instructionsAnswer, said)
	}
	p.needTorch(a, func(t torchAnswer) { p.Status = Present })
	return p
}

func cpuDetail(c CPU) string {
	parts := []string{fmt.Sprintf("%s, %s", orUnnamed(c.Model, "unnamed processor"), c.Arch)}
	if c.Cores > 0 {
		parts = append(parts, fmt.Sprintf("%s, %s", count(c.Cores, "core"), count(c.CPUs, "logical CPU")))
	}
	if c.Affinity > 0 && c.Affinity < c.CPUs {
		parts = append(parts, fmt.Sprintf("%d logical CPUs allowed by affinity", c.Affinity))
	}
	if c.Quota != nil {
		parts = append(parts, fmt.Sprintf("control group allows %s CPUs", trimFloat(*c.Quota)))
	}
	return strings.Join(parts, "; ")
}

// without takes away the features that do not execute, so that nothing is
// recommended for their sake, and lists them as such.
func (c CPU) without(flags []string) CPU {
	off := fromFlags(flags)
	c.Features = slices.DeleteFunc(slices.Clone(c.Features), func(f string) bool { return slices.Contains(off, f) })
	c.NotExecuted = off
	return c
}

// lookCPU puts together what cpuid, procfs, sysfs or sysctl tell.
func lookCPU(m *Machine) CPU {
	c := CPU{Arch: m.Arch, Model: m.Native.Model, Vendor: m.Native.Vendor, Cores: m.Native.Cores, CPUs: m.Native.CPUs,
		Features: slices.Clone(m.Native.Features), Caches: slices.Clone(m.Native.Caches)}
	switch m.OS {
	case "linux":
		lookLinuxCPU(m, &c)
	case "darwin":
		lookDarwinCPU(m, &c)
	default:
		c.Affinity, c.Usable = c.CPUs, c.Cores
	}
	c.Features = ordered(c.Features)
	if c.Caches == nil {
		c.Caches = []CacheLevel{}
	}
	return c
}

func lookLinuxCPU(m *Machine, c *CPU) {
	info := parseCPUInfo(m.textOf("proc/cpuinfo"))
	c.Model = orUnnamed(info.model, c.Model)
	c.Vendor = orUnnamed(info.vendor, c.Vendor)
	c.Features = append(c.Features, info.features...)
	core := linuxCores(m, info)
	allowed := parseList(statusLine(m.textOf("proc/self/status"), "Cpus_allowed_list"))
	if len(info.cpus) > 0 {
		c.CPUs, c.Cores = len(info.cpus), distinct(core, info.cpus)
		allowed = intersect(info.cpus, allowed)
	}
	c.Affinity, c.Usable = len(allowed), distinct(core, allowed)
	if c.Affinity == 0 {
		c.Affinity, c.Usable = c.CPUs, c.Cores
	}
	if c.Quota = cgroupCPUs(m); c.Quota != nil {
		c.Usable = min(c.Usable, max(1, int(*c.Quota)))
	}
	if caches := linuxCaches(m); len(caches) > 0 {
		c.Caches = caches
	}
}

// linuxCores gives each logical CPU the name of its core. x86 tells in
// /proc/cpuinfo, ARM only in sysfs.
func linuxCores(m *Machine, info cpuInfo) map[int]string {
	core := map[int]string{}
	for _, n := range info.cpus {
		if core[n] = info.core[n]; core[n] != "" {
			continue
		}
		siblings := m.textOf(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", n))
		core[n] = orUnnamed(siblings, strconv.Itoa(n))
	}
	return core
}

func linuxCaches(m *Machine) []CacheLevel {
	var caches []CacheLevel
	for _, dir := range m.list("sys/devices/system/cpu/cpu0/cache") {
		base := "sys/devices/system/cpu/cpu0/cache/" + dir + "/"
		level, err := strconv.Atoi(m.textOf(base + "level"))
		size := parseSize(m.textOf(base + "size"))
		if err == nil && size > 0 {
			caches = append(caches, CacheLevel{level, strings.ToLower(m.textOf(base + "type")), size})
		}
	}
	return caches
}

func distinct(core map[int]string, cpus []int) int {
	seen := map[string]bool{}
	for _, n := range cpus {
		seen[core[n]] = true
	}
	return len(seen)
}

// intersect returns those of all that are allowed; no list allows all.
func intersect(all, allowed []int) []int {
	if len(allowed) == 0 {
		return all
	}
	var both []int
	for _, n := range all {
		if slices.Contains(allowed, n) {
			both = append(both, n)
		}
	}
	return both
}

func orUnnamed(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

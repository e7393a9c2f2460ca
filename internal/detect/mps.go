package detect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/internal/platform"
)

type mpsProbe struct{}

func (mpsProbe) Platform() platform.Name { return platform.MPS }

var appleChip = regexp.MustCompile(`^Apple M([0-9]{1,2})( Pro| Max| Ultra)?$`)

func (mpsProbe) Look(m *Machine) Seen {
	s := Seen{}
	if m.OS != "darwin" {
		return s
	}
	keys := sysctls(m)
	chip := keys["machdep.cpu.brand_string"]
	s.note("sysctl", fmt.Sprintf("%s, %s", orUnnamed(chip, "unnamed chip"), orUnnamed(keys["hw.model"], "unnamed model")))
	if v := lookKernel(m); v != "" {
		s.note("sw_vers", "macOS "+v)
	}
	match := appleChip.FindStringSubmatch(chip)
	if match == nil {
		s.Missing, s.Hint = "the processor is not an Apple chip", "MPS needs an Apple M-series chip"
		return s
	}
	d := Device{ID: "mps", Name: chip + " GPU", Features: []string{"generation M" + match[1], "unified memory"}}
	if cores := gpuCores(m); cores > 0 {
		d.Features = append(d.Features, fmt.Sprintf("%d GPU cores", cores))
	}
	d.MemoryBytes = usableShare(keys, &s)
	s.Devices, s.Hardware = []Device{d}, []string{d.Name}
	return s
}

// usableShare is the part of the unified memory that the GPU may use, where the
// user has set it; otherwise only the engine can tell.
func usableShare(keys map[string]string, s *Seen) *int64 {
	total, _ := strconv.ParseInt(keys["hw.memsize"], 10, 64)
	if total <= 0 {
		return nil
	}
	limit, _ := strconv.ParseInt(keys["iogpu.wired_limit_mb"], 10, 64)
	if limit <= 0 || limit > total>>20 {
		s.note("sysctl", Bytes(total)+" of unified memory; the GPU's share is the system's default")
		return nil
	}
	s.note("sysctl", fmt.Sprintf("%s of unified memory, of which the GPU may use %s (iogpu.wired_limit_mb)", Bytes(total), Bytes(limit<<20)))
	return positive(limit << 20)
}

var gpuCoreCount = regexp.MustCompile(`"gpu-core-count" = ([0-9]{1,4})`)

func gpuCores(m *Machine) int {
	match := gpuCoreCount.FindStringSubmatch(m.command("ioreg", "-rc", "AGXAccelerator", "-d1"))
	if match == nil {
		return 0
	}
	return orCount(match[1], 0)
}

func (mpsProbe) Judge(s Sighting, a Answers) Platform {
	seen := s.Platforms[platform.MPS]
	p := Platform{Platform: platform.MPS, Devices: seen.Devices, Evidence: seen.Evidence}
	switch {
	case s.OS != "darwin":
		return p.absent("the system is "+s.OS, "MPS needs macOS on an Apple M-series chip")
	case seen.Missing != "":
		return p.absent(seen.Missing, seen.Hint)
	}
	p.needTorch(a, func(t torchAnswer) { judgeMPSTorch(&p, s, t) })
	return p
}

func judgeMPSTorch(p *Platform, s Sighting, t torchAnswer) {
	switch {
	case !t.MPS.Built:
		p.absentFor("torch "+t.Version+" was built without MPS", "install the macOS arm64 build of torch")
		return
	case !t.MPS.Available:
		p.absentFor("torch says that MPS is not available", "MPS needs macOS 14 or later and a session with access to the GPU")
		return
	}
	p.Status = Present
	d := &p.Devices[0]
	if t.MPS.MaxBytes != nil {
		d.MemoryBytes = t.MPS.MaxBytes
		p.note("torch", "recommended working set of the GPU "+Bytes(*t.MPS.MaxBytes)+share(*t.MPS.MaxBytes, s.Memory.Total))
	}
	d.Features = append(d.Features, "fp16")
	if macOSMajor(s.Kernel) >= 14 {
		d.Features = append(d.Features, "bf16")
	}
	d.Settings = mpsSettings(d.MemoryBytes, s.CPU)
}

func share(part, whole int64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% of the unified memory)", 100*float64(part)/float64(whole))
}

func macOSMajor(version string) int {
	major, _, _ := strings.Cut(version, ".")
	return orCount(major, 0)
}

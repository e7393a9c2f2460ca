package lab

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Heat is how warm a piece of the machine is.
type Heat struct {
	Of      string // "the processor", "GPU 0"
	Celsius float64
}

// Device is what is known, while nothing of ours runs, about what cells are
// timed on: how warm it is, and who else uses it.
type Device struct {
	Heats []Heat
	Users []string // of a GPU, in words
}

// coolFor is how long a hot machine is waited for before each round.
const coolFor = 10 * time.Minute

// Devices looks at the processor and, where a GPU is timed, at what NVIDIA's own
// program says about it. What is not known is left out.
func Devices(ctx context.Context, gpu bool) Device {
	d := Device{Heats: processorHeat("/sys")}
	if !gpu {
		return d
	}
	smi := func(args ...string) string {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		out, err := exec.CommandContext(limited, "nvidia-smi", args...).Output()
		if err != nil {
			return ""
		}
		return string(out)
	}
	d.Heats = append(d.Heats, gpuHeat(smi("--query-gpu=index,temperature.gpu", "--format=csv,noheader,nounits"))...)
	d.Users = gpuUsers(smi("--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader,nounits"))
	return d
}

// sensorsOf are the drivers whose temperatures are the processor's.
var sensorsOf = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal"}

// processorHeat is the hottest of the processor's sensors, in the kernel's files.
func processorHeat(sys string) []Heat {
	most := math.Inf(-1)
	names, _ := filepath.Glob(filepath.Join(sys, "class/hwmon/hwmon*/name"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !slices.Contains(sensorsOf, strings.TrimSpace(string(text))) {
			continue
		}
		inputs, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "temp*_input"))
		for _, input := range inputs {
			if raw, err := os.ReadFile(input); err == nil {
				if milli, err := strconv.ParseFloat(strings.TrimSpace(string(raw)), 64); err == nil {
					most = math.Max(most, milli/1000)
				}
			}
		}
	}
	if math.IsInf(most, -1) {
		return nil
	}
	return []Heat{{"the processor", most}}
}

// gpuHeat reads lines of "index, degrees".
func gpuHeat(text string) []Heat {
	var out []Heat
	for line := range strings.Lines(text) {
		index, degrees, ok := strings.Cut(line, ",")
		c, err := strconv.ParseFloat(strings.TrimSpace(degrees), 64)
		if ok && err == nil {
			out = append(out, Heat{"GPU " + strings.TrimSpace(index), c})
		}
	}
	return out
}

// gpuUsers reads lines of "pid, program, MiB": programs that compute on a GPU.
func gpuUsers(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		fields := strings.Split(line, ",")
		if len(fields) != 3 {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(fields[0]))
		if err != nil {
			continue
		}
		user := fmt.Sprintf("%s (process %d", filepath.Base(strings.TrimSpace(fields[1])), pid)
		if mib, err := strconv.Atoi(strings.TrimSpace(fields[2])); err == nil {
			user += fmt.Sprintf(", %d MiB", mib)
		}
		out = append(out, user+")")
	}
	return out
}

// onGPU reports whether a plan times anything on an NVIDIA GPU.
func onGPU(p cell.Plan) bool {
	return slices.ContainsFunc(p.Cells, func(c cell.Cell) bool { return c.Platform == platform.CUDA })
}

// used says who else computes on the GPU that is timed, in words.
func (d Device) used() string {
	if len(d.Users) == 0 {
		return ""
	}
	return "the GPU was shared: also used by " + some(d.Users)
}

// above says what is warmer than a limit, in words.
func (d Device) above(most float64) string {
	for _, h := range d.Heats {
		if h.Celsius > most {
			return fmt.Sprintf("%s was at %.0f °C, above %.0f", h.Of, h.Celsius, most)
		}
	}
	return ""
}

// cool waits until nothing is warmer than the plan allows, and says what still is
// when it has waited long enough, and who else uses the GPU.
func (c *carrying) cool(ctx context.Context) (hot, used string, err error) {
	if c.Devices == nil || c.plan.MaxTempC == 0 && !onGPU(c.plan) {
		return "", "", nil
	}
	until := time.Now().Add(coolFor)
	for said := false; ; said = true {
		d := c.Devices(ctx, onGPU(c.plan))
		if c.plan.MaxTempC > 0 && len(d.Heats) == 0 && !c.coldSaid {
			c.coldSaid = true
			c.note("no temperature is known on this machine: --max-temp waits for nothing")
		}
		if c.plan.MaxTempC > 0 {
			hot = d.above(c.plan.MaxTempC)
		}
		if hot == "" || !time.Now().Before(until) {
			return hot, d.used(), nil
		}
		if !said {
			c.note(fmt.Sprintf("waiting for the machine to cool down, up to %s: %s", coolFor, hot))
		}
		select {
		case <-ctx.Done():
			return "", "", context.Cause(ctx)
		case <-time.After(askAgain):
		}
	}
}

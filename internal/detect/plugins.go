package detect

import (
	"fmt"
	"slices"
	"strconv"

	"assay/internal/platform"
)

// pluginHint is what brings each platform of torch's plug-ins.
var pluginHint = map[platform.Name]string{
	platform.XPU: "XPU needs an Intel GPU, its driver and torch's XPU build: name a Python that has it with --python",
	platform.HPU: "HPU needs an Intel Gaudi and its maker's habana_frameworks: name a Python that has it with --python",
	platform.NPU: "NPU needs a Huawei Ascend and its maker's torch_npu: name a Python that has it with --python",
	platform.XLA: "XLA needs torch_xla, and on a Google TPU its libtpu: name a Python that has them with --python",
}

// judgePlugins are the platforms of torch's plug-ins. Files tell nothing of
// them: torch has one, or it has not.
func judgePlugins(s Sighting, a Answers) []Platform {
	var out []Platform
	for _, name := range platform.Plugins() {
		p := Platform{Platform: name}
		p.needTorch(a, func(t torchAnswer) { judgePlugin(&p, s, t) })
		out = append(out, finish(p, Seen{}))
	}
	return out
}

func judgePlugin(p *Platform, s Sighting, t torchAnswer) {
	found, installed := t.Plugins[p.Platform], true
	if p.Platform == platform.XPU {
		found.Devices = t.XPU
	} else {
		_, installed = t.Plugins[p.Platform]
	}
	switch {
	case !installed:
		p.absentFor(fmt.Sprintf("torch %s has no plug-in for %s", t.Version, p.Platform), pluginHint[p.Platform])
	case len(found.Devices) == 0:
		p.absentFor(orUnnamed(found.Error, fmt.Sprintf("torch %s sees no %s device", t.Version, p.Platform)), pluginHint[p.Platform])
	default:
		p.Status = Present
		p.note("torch", fmt.Sprintf("%s, by %s", count(len(found.Devices), "device"), orUnnamed(found.Package, "torch itself")))
		for i, d := range found.Devices {
			p.Devices = append(p.Devices, Device{ID: strconv.Itoa(i), Name: d.Name, MemoryBytes: d.MemoryBytes, Software: found.Software,
				Settings: onDevice(platform.FP32, "which dtype is fast there is not known", d.MemoryBytes, s.CPU)})
		}
	}
}

// shown are those that stand in a report beside the eight: what torch has a
// plug-in for that is of use. The others answer to their names alone.
func shown(plugins []Platform) (here, others []Platform) {
	for _, p := range plugins {
		if p.Status == Present {
			here = append(here, p)
		} else {
			others = append(others, p)
		}
	}
	return slices.Clip(here), others
}

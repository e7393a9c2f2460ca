package cell

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"assay/internal/platform"
)

// torchDevices are how torch calls the devices of a platform; those of plug-ins
// have the platform's own name.
var torchDevices = map[platform.Name]string{platform.CPU: "cpu", platform.CUDA: "cuda", platform.ROCm: "cuda", platform.MPS: "mps"}

// TorchDevice is how torch calls the devices of the cell's platform; "" where
// another engine runs it.
func (c Cell) TorchDevice() string {
	if c.Engine != platform.Torch {
		return ""
	}
	return cmp.Or(torchDevices[c.Platform], string(c.Platform))
}

// Holds reports whether a device, as torch calls it, is one of the cell's. Layers
// that are split over a platform's one device lie on its host too.
func (c Cell) Holds(device string) bool {
	return strings.HasPrefix(device, c.TorchDevice()) || c.Parallel == LayerSplit && device == torchDevices[platform.CPU]
}

// Strayed lists the devices on which torch was seen to run operations of the cell
// and that are not the cell's.
func (p *Placement) Strayed(c Cell) []string {
	if p == nil || c.TorchDevice() == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.Nodes)), func(device string) bool {
		return device == "" || c.Holds(device)
	})
}

// LeavesOver reports whether operations of the cell ran elsewhere, by whichever
// engine.
func (p *Placement) LeavesOver(c Cell) bool {
	return p != nil && (len(p.LeftOver) > 0 || len(p.Strayed(c)) > 0)
}

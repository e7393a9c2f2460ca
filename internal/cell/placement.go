package cell

import (
	"maps"
	"slices"
	"strings"

	"assay/internal/platform"
)

// torchDevices are how torch calls the devices of a platform.
var torchDevices = map[platform.Name]string{platform.CPU: "cpu", platform.CUDA: "cuda", platform.ROCm: "cuda", platform.MPS: "mps"}

// TorchDevice is how torch calls the devices of the cell's platform; "" where
// another engine runs it.
func (c Cell) TorchDevice() string {
	if c.Engine != platform.Torch {
		return ""
	}
	return torchDevices[c.Platform]
}

// Strayed lists the devices on which torch was seen to run operations of the cell
// and that are not the cell's.
func (p *Placement) Strayed(c Cell) []string {
	own := c.TorchDevice()
	if p == nil || own == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.Nodes)), func(device string) bool {
		return device == "" || strings.HasPrefix(device, own)
	})
}

// LeavesOver reports whether operations of the cell ran elsewhere, by whichever
// engine.
func (p *Placement) LeavesOver(c Cell) bool {
	return p != nil && (len(p.LeftOver) > 0 || len(p.Strayed(c)) > 0)
}

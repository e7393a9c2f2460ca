package lab

import (
	"fmt"
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// The smallest input sizes that adaptation goes down to.
const (
	leastSeq   = 8
	leastImage = 32
)

// lower returns the cell with less need of memory: first half the batch, then
// half the input size, then a smaller dtype. It reports false at the end of
// that ladder. Seq and image of 0 are the recipe's own, given beside.
func lower(c cell.Cell, seq, image int) (cell.Cell, bool) {
	if c.Seq == 0 {
		c.Seq = seq
	}
	if c.Image == 0 {
		c.Image = image
	}
	switch {
	case c.Batch > 1:
		c.Batch /= 2
	case c.Seq/2 >= leastSeq:
		c.Seq /= 2
	case c.Image/2 >= leastImage:
		c.Image /= 2
	default:
		smaller, ok := smallerDType(c)
		if !ok {
			return c, false
		}
		c.DType = smaller
	}
	return c.Normal(), true
}

// smallerDType is the half precision that suits the platform.
func smallerDType(c cell.Cell) (platform.DType, bool) {
	if c.DType != platform.FP32 {
		return "", false
	}
	half := platform.FP16
	if c.Platform == platform.CPU {
		half = platform.BF16
	}
	return half, c.Where().HasDType(half)
}

// halving are the platforms on whose devices half precision is worth trying
// first: some lack it for an operator or altogether.
var halving = []platform.Name{platform.CUDA, platform.ROCm, platform.MPS}

// wider is the cell in fp32, where it asked a GPU for half precision of torch.
func wider(c cell.Cell) (cell.Cell, bool) {
	half := c.DType == platform.FP16 || c.DType == platform.BF16
	if !half || c.Engine != platform.Torch || !slices.Contains(halving, c.Platform) {
		return c, false
	}
	c.DType = platform.FP32
	return c.Normal(), true
}

var dtypeBytes = map[platform.DType]int64{platform.FP32: 4, platform.FP16: 2, platform.BF16: 2, platform.INT8: 1, platform.A16W8: 1, platform.W8: 1, platform.W4: 1}

// childBytes is what a child needs besides the model: its private part of the
// interpreter and the libraries' working memory.
const childBytes = 300 << 20

// estimate is the memory that a job over these parameters needs, from the
// parameters alone: the fit check and admission need an order of magnitude.
// A check holds its reference beside the model: float64 for fp32 on the CPU,
// else the fp32 weights. Software says that an emulator or a software adapter
// stands for the device: all that it holds is the host's.
func estimate(c cell.Cell, parameters int64, check, software bool) need {
	n := need{silicon: silicon(c.Where(), software), hostBytes: int64(max(1, c.Procs)) * (childBytes + 4*parameters)}
	if n.silicon != "cpu" {
		n.deviceBytes = dtypeBytes[c.DType] * parameters
	}
	if c.Mode == cell.Train {
		return n.training(c, parameters, check)
	}
	switch {
	// Torch's model, the graph in memory and on its way to disk, the engine's
	// copy: models are exported on the host, wherever they run.
	case check && c.Engine.Traits().Graphs:
		n.hostBytes = childBytes + 16*parameters
	case n.silicon != "cpu":
	case check && c.DType == platform.FP32:
		n.hostBytes = childBytes + 12*parameters
	case c.DType != platform.FP32:
		n.hostBytes = childBytes + (4+dtypeBytes[c.DType])*parameters
	}
	return n
}

// training is what steps of training hold: weights, gradients and two means of
// them. A check has the reference's beside its own, and what both gave.
func (n need) training(c cell.Cell, parameters int64, check bool) need {
	n.hostBytes = childBytes + 16*parameters
	if n.silicon != "cpu" {
		n.hostBytes, n.deviceBytes = childBytes+4*parameters, 4*dtypeBytes[c.DType]*parameters
	}
	switch {
	case check && n.silicon == "cpu" && c.DType == platform.FP32:
		n.hostBytes = childBytes + 72*parameters
	case check:
		n.hostBytes = childBytes + 40*parameters
	}
	return n
}

// fits is the check before loading: the weights alone must fit on the device.
// It returns a sentence when they cannot.
func fits(c cell.Cell, parameters int64, here Presence, hostBytes int64) string {
	weights := dtypeBytes[c.DType] * parameters
	room, has := hostBytes, "this machine has "+gib(hostBytes)+" free"
	if silicon(c.Where(), here.Software) != "cpu" {
		room, has = here.MemoryBytes, c.Target+" has "+gib(here.MemoryBytes)
	}
	if room <= 0 || weights <= room {
		return ""
	}
	return fmt.Sprintf("its weights take %s in %s, %s", gib(weights), c.DType, has)
}

// fitsWhole is the check before a step of a fallback: all that a check holds at
// once, reference and exporter included, must fit into the host's memory.
func fitsWhole(c cell.Cell, parameters int64, software bool, hostBytes int64) string {
	whole := estimate(c, parameters, true, software).hostBytes
	if hostBytes <= 0 || whole <= hostBytes {
		return ""
	}
	return fmt.Sprintf("checking it takes about %s in %s, this machine has %s free", gib(whole), c.DType, gib(hostBytes))
}

func gib(b int64) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) }

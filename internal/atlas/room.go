package atlas

import (
	"fmt"

	"assay/internal/cell"
	"assay/internal/weights"
)

// Memory is what a checkpoint's weights take beside what their device has. Inputs,
// activations and caches come on top of it.
type Memory struct {
	WeightsBytes int64  `json:"weights_bytes"`
	DeviceBytes  int64  `json:"device_bytes"`
	Device       string `json:"device"`
	Fits         bool   `json:"fits"`
}

// memory compares the weights in a claim's dtype with the device; nil where either
// is unknown.
func (m Model) memory(s Sourced) *Memory {
	if m.Checkpoint == "" || m.Room == nil {
		return nil
	}
	need, room := m.Weights.In(s.DType), m.Room(s.Target)
	if need == 0 || room.Bytes == 0 {
		return nil
	}
	return &Memory{need, room.Bytes, room.Device, need <= room.Bytes}
}

// fit is what a claim says of the model once its weights are compared with the
// device: what does not fit fails, whatever the tiny one did. What ran at its
// true size is left as it was.
func (m Model) fit(s Sourced) Sourced {
	x := m.memory(s)
	if x == nil || x.Fits || s.exact || s.Verdict == cell.Fails || s.Verdict == cell.Unavailable {
		return s
	}
	if s.Basis == "" && s.Evidence != cell.None {
		s.Basis = s.Evidence
	}
	s.Verdict, s.Evidence, s.Class, s.other = cell.Fails, cell.Predicted, cell.OutOfMemory, false
	s.Detail = fmt.Sprintf("its weights take %s in %s, and %s has %s", weights.Bytes(x.WeightsBytes), s.DType, x.Device, weights.Bytes(x.DeviceBytes))
	return s
}

// String is the comparison for people.
func (x *Memory) String() string {
	if x == nil || !x.Fits {
		return ""
	}
	return fmt.Sprintf("weights %s of the %s of %s", weights.Bytes(x.WeightsBytes), weights.Bytes(x.DeviceBytes), x.Device)
}

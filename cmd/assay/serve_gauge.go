package main

import (
	"context"
	"time"

	"assay/internal/detect"
	"assay/internal/live"
)

// gauge tells how busy and how warm this machine is.
func gauge(m *detect.Machine) *live.Gauge {
	gpus := &live.Accelerators{Root: m.Root, Now: time.Now}
	if program, ok := m.Find("nvidia-smi"); ok {
		gpus.SMI = func(ctx context.Context, args ...string) ([]byte, error) { return m.Command(ctx, program, args...) }
	}
	return &live.Gauge{Root: m.Root, Now: time.Now, Devices: gpus.Read}
}

package lab

import (
	"context"
	"fmt"
	"sync"

	"assay/internal/platform"
)

// silicon names the piece of hardware that a target really occupies. Several
// targets are one piece: the browser's WebNN, the QNN emulator and a software
// WebGPU adapter all run on the host's CPU.
func silicon(t platform.Target, software bool) string {
	switch {
	case software, t.Platform == platform.CPU, t.Platform == platform.WebNN, t.Engine == platform.CoreML:
		return "cpu"
	case t.Platform == platform.OpenVINO:
		if t.Device == "" || t.Device == "CPU" || t.Device == "AUTO" {
			return "cpu"
		}
		return "intel:" + t.Device
	case t.Platform == platform.ROCm, t.Platform == platform.CUDA, t.Platform == platform.WebGPU, t.Platform == platform.MPS:
		return "gpu:" + t.Device
	}
	return string(t.Platform) + ":" + t.Device
}

// need is what a job takes while it runs.
type need struct {
	silicon     string
	alone       bool  // a timed job: nothing else of ours may run on this host
	hostBytes   int64 // estimated
	deviceBytes int64 // estimated, on silicon other than the CPU
}

// slots admits jobs to the host: timed ones alone, the others side by side as
// far as workers and memory allow. A job that is larger than everything is
// admitted when nothing else runs, so that the plan always goes on and the
// job's own fit check can speak.
type slots struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something is released

	workers     int
	hostBytes   int64
	deviceBytes map[string]int64 // by silicon; missing means unknown, which is not a limit

	running    int
	alone      bool
	usedHost   int64
	usedDevice map[string]int64
}

func newSlots(workers int, hostBytes int64, deviceBytes map[string]int64) *slots {
	return &slots{
		changed: make(chan struct{}), workers: max(1, workers),
		hostBytes: hostBytes, deviceBytes: deviceBytes, usedDevice: map[string]int64{},
	}
}

// acquire waits until the job may run and returns what releases it.
func (s *slots) acquire(ctx context.Context, n need) (release func(), err error) {
	for {
		s.mu.Lock()
		if s.fits(n) {
			s.take(n, 1)
			s.mu.Unlock()
			return sync.OnceFunc(func() { s.release(n) }), nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a free slot: %w", context.Cause(ctx))
		}
	}
}

func (s *slots) fits(n need) bool {
	if s.running == 0 {
		return true
	}
	if s.alone || n.alone || s.running >= s.workers {
		return false
	}
	if s.hostBytes > 0 && s.usedHost+n.hostBytes > s.hostBytes {
		return false
	}
	limit, known := s.deviceBytes[n.silicon]
	return !known || s.usedDevice[n.silicon]+n.deviceBytes <= limit
}

func (s *slots) take(n need, sign int64) {
	s.running += int(sign)
	s.usedHost += sign * n.hostBytes
	s.usedDevice[n.silicon] += sign * n.deviceBytes
	s.alone = n.alone && sign > 0
}

func (s *slots) release(n need) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(n, -1)
	close(s.changed)
	s.changed = make(chan struct{})
}

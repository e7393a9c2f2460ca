package lab

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"assay/internal/platform"
)

// silicon names the piece of hardware that a target really occupies. Several
// targets are one piece: the browser's WebNN, the QNN emulator and a software
// WebGPU adapter all run on the host's CPU.
func silicon(t platform.Target, software bool) string {
	switch {
	case software, t.Platform == platform.CPU, t.Platform == platform.WebNN, t.Engine.Traits().Anywhere:
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

// Admission admits jobs to the host: timed ones alone, the others in parallel
// as far as workers and memory allow. A job that is larger than everything is
// admitted when nothing else runs, so that the plan always goes on and the
// job's own fit check can speak.
//
// One admission serves all plans that a program carries out at the same time.
type Admission struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something is released

	workers     int
	hostBytes   int64            // 0 is unknown, which is not a limit
	deviceBytes map[string]int64 // by silicon; missing means unknown, which is not a limit

	running    int
	alone      bool
	usedHost   int64
	usedDevice map[string]int64
}

// NewAdmission returns one that lets this many functional jobs run in parallel.
func NewAdmission(workers int) *Admission {
	return &Admission{
		changed: make(chan struct{}), workers: max(1, workers),
		deviceBytes: map[string]int64{}, usedDevice: map[string]int64{},
	}
}

// learn takes in what a plan that begins knows of memory, and returns what the
// host has for all plans together. What is free is asked for only while nothing
// runs: else it is less by what the jobs under way hold, which are counted.
func (a *Admission) learn(free func() int64, devices map[string]int64) (hostBytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running == 0 {
		a.hostBytes = free()
	}
	maps.Copy(a.deviceBytes, devices)
	return a.hostBytes
}

// Alone waits until nothing else of the program's runs, and keeps the rest
// waiting until what it returns is called.
func (a *Admission) Alone(ctx context.Context) (release func(), err error) {
	return a.acquire(ctx, need{silicon: "cpu", alone: true})
}

// Share waits until something that is not timed may run beside others, and counts it
// as one of them until what it returns is called.
func (a *Admission) Share(ctx context.Context) (release func(), err error) {
	return a.acquire(ctx, need{silicon: "cpu"})
}

// acquire waits until the job may run and returns what releases it.
func (a *Admission) acquire(ctx context.Context, n need) (release func(), err error) {
	for {
		a.mu.Lock()
		if a.fits(n) {
			a.take(n, 1)
			a.mu.Unlock()
			return sync.OnceFunc(func() { a.release(n) }), nil
		}
		changed := a.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a free slot: %w", context.Cause(ctx))
		}
	}
}

func (a *Admission) fits(n need) bool {
	if a.running == 0 {
		return true
	}
	if a.alone || n.alone || a.running >= a.workers {
		return false
	}
	if a.hostBytes > 0 && a.usedHost+n.hostBytes > a.hostBytes {
		return false
	}
	limit, known := a.deviceBytes[n.silicon]
	return !known || a.usedDevice[n.silicon]+n.deviceBytes <= limit
}

func (a *Admission) take(n need, sign int64) {
	a.running += int(sign)
	a.usedHost += sign * n.hostBytes
	a.usedDevice[n.silicon] += sign * n.deviceBytes
	a.alone = n.alone && sign > 0
}

func (a *Admission) release(n need) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.take(n, -1)
	close(a.changed)
	a.changed = make(chan struct{})
}

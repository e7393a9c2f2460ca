package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestProcessorHeat: the hottest sensor of the processor, and no other's.
func TestProcessorHeat(t *testing.T) {
	t.Parallel()
	sys := t.TempDir()
	for path, text := range map[string]string{
		"hwmon0/name": "k10temp\n", "hwmon0/temp1_input": "61250\n", "hwmon0/temp3_input": "58000\n",
		"hwmon1/name": "nvme\n", "hwmon1/temp1_input": "91000\n",
		"hwmon2/name": "coretemp\n", "hwmon2/temp2_input": "broken\n",
	} {
		file := filepath.Join(sys, "class/hwmon", path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]Heat{{"the processor", 61.25}}, processorHeat(sys)); d != "" {
		t.Error(d)
	}
	if got := processorHeat(t.TempDir()); got != nil {
		t.Errorf("a machine without sensors is at %v", got)
	}
}

// TestGPU: lines in the documented form of nvidia-smi's queries.
func TestGPU(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff([]Heat{{"GPU 0", 41}, {"GPU 1", 83}}, gpuHeat("0, 41\n1, 83\n2, [N/A]\n")); d != "" {
		t.Error(d)
	}
	want := []string{"python3 (process 4711, 2048 MiB)", "Xorg (process 12)"}
	if d := cmp.Diff(want, gpuUsers("4711, /usr/bin/python3, 2048\n12, /usr/lib/Xorg, [N/A]\nNo running processes found\n")); d != "" {
		t.Error(d)
	}
	if got := (Device{Users: want}).used(); !strings.Contains(got, "python3 (process 4711") {
		t.Error(got)
	}
}

// TestCoolDown: a hot machine is waited for, a cold one is not, and who else uses
// the GPU is told.
func TestCoolDown(t *testing.T) {
	t.Parallel()
	looks := 0
	l := &Lab{Devices: func(context.Context, bool) Device {
		looks++
		c := 90.0
		if looks > 1 {
			c = 60
		}
		return Device{Heats: []Heat{{"GPU 0", c}}, Users: []string{"python (process 1)"}}
	}}
	var n notes
	c := &carrying{Lab: l, on: &n, plan: cell.Plan{MaxTempC: 80, Cells: []cell.Cell{{Platform: platform.CUDA}}}}
	began := time.Now()
	hot, used, err := c.cool(context.Background())
	if err != nil || hot != "" || looks != 2 || time.Since(began) < askAgain/2 || used == "" {
		t.Errorf("%q, %q, %v after %d looks", hot, used, err, looks)
	}
	if len(n.notes) != 1 || !strings.Contains(n.notes[0], "GPU 0 was at 90 °C, above 80") {
		t.Errorf("%q", n.notes)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	looks = 0
	if _, _, err := c.cool(ctx); err == nil {
		t.Error("a cancelled plan waits")
	}
	plain := &carrying{Lab: l, on: &n, plan: cell.Plan{Cells: []cell.Cell{{Platform: platform.CPU}}}}
	looks = 0
	if _, _, err := plain.cool(context.Background()); err != nil || looks != 0 {
		t.Errorf("nobody asked, and it looked %d times: %v", looks, err)
	}
}

// TestUnknownHeatIsTold: once, and nothing is waited for.
func TestUnknownHeatIsTold(t *testing.T) {
	t.Parallel()
	var n notes
	c := &carrying{Lab: &Lab{Devices: func(context.Context, bool) Device { return Device{} }}, on: &n, plan: cell.Plan{MaxTempC: 80}}
	for range 2 {
		if hot, _, err := c.cool(context.Background()); hot != "" || err != nil {
			t.Errorf("%q, %v", hot, err)
		}
	}
	if len(n.notes) != 1 || !strings.Contains(n.notes[0], "no temperature is known") {
		t.Errorf("%q", n.notes)
	}
}

package live

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at[T any](v T) *T { return &v }

// TestAcceleratorsTellWhatIsThere: what a GPU does not say is unknown, and never 0.
func TestAcceleratorsTellWhatIsThere(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{}
	for name, text := range map[string]string{
		"card0/device/vendor": "0x1002\n", "card0/device/product_name": "Instinct MI300X\n", "card0/device/gpu_busy_percent": "37\n",
		"card0/device/mem_info_vram_used": "1048576\n", "card0/device/mem_info_vram_total": "4194304\n",
		"card0/device/hwmon/hwmon3/temp1_input": "41000\n", "card0/device/hwmon/hwmon3/temp2_input": "52500\n",
		"card1/device/vendor": "0x8086\n", "card1/device/hwmon/hwmon4/temp1_input": "39000\n",
		"card2/device/vendor": "0x8086\n",                                         // tells nothing
		"card3/device/vendor": "0x1a03\n", "card3/device/gpu_busy_percent": "1\n", // a server's display
		"card0-DP-1/device/vendor": "0x1002\n", "card0-DP-1/device/gpu_busy_percent": "1\n",
	} {
		root["sys/class/drm/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	a := &Accelerators{Root: root, Now: time.Now, SMI: func(_ context.Context, args ...string) ([]byte, error) {
		if args[0] != "--query-gpu=uuid,name,utilization.gpu,temperature.gpu,memory.used,memory.total" {
			t.Errorf("asked %v", args)
		}
		return []byte("GPU-1, NVIDIA H200, 88, 61, 1024, 143771\nGPU-2, NVIDIA A, 0, [N/A], [Not Supported], [N/A]\nGPU-3, NVIDIA B, [N/A], 0, 0, 1\nNo devices were found\n"), nil
	}}
	want := []Device{
		{ID: "GPU-1", Name: "NVIDIA H200", Utilisation: at(0.88), TemperatureC: at(61.0), MemoryBytes: at(int64(1 << 30)), OfBytes: at(int64(143771 << 20))},
		{ID: "GPU-2", Name: "NVIDIA A", Utilisation: at(0.0)},
		{ID: "GPU-3", Name: "NVIDIA B", TemperatureC: at(0.0), MemoryBytes: at(int64(0)), OfBytes: at(int64(1 << 20))},
		{ID: "card0", Name: "Instinct MI300X", Utilisation: at(0.37), TemperatureC: at(52.5), MemoryBytes: at(int64(1 << 20)), OfBytes: at(int64(4 << 20))},
		{ID: "card1", Name: "Intel GPU", TemperatureC: at(39.0)},
	}
	if d := cmp.Diff(want, a.Read(t.Context())); d != "" {
		t.Error(d)
	}
	if got := (&Accelerators{Now: time.Now}).Read(t.Context()); got == nil || len(got) != 0 {
		t.Errorf("nothing is there, and it is %v", got)
	}
}

// TestAcceleratorsForget: NVIDIA's program is not asked at every sample, and what it said
// before it failed is not told as if it were so now.
func TestAcceleratorsForget(t *testing.T) {
	t.Parallel()
	now, asked := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC), 0
	var fails error
	a := &Accelerators{Now: func() time.Time { return now }, SMI: func(context.Context, ...string) ([]byte, error) {
		asked++
		return []byte("GPU-1, NVIDIA H200, 88, 61, 1, 2\n"), fails
	}}
	for i, step := range []struct {
		after       time.Duration
		fails       error
		asked, seen int
	}{
		{0, nil, 1, 1}, {time.Second, nil, 1, 1}, {time.Second, nil, 2, 1}, {2 * time.Second, errors.New("no driver"), 3, 0}, {10 * time.Second, nil, 3, 0}, {time.Minute, nil, 4, 1},
	} {
		now, fails = now.Add(step.after), step.fails
		if seen := a.Read(t.Context()); len(seen) != step.seen || asked != step.asked {
			t.Errorf("step %d: asked %d times, seen %v", i, asked, seen)
		}
	}
}

// TestGaugeWithoutSensors: where there is nothing to read every value is absent.
func TestGaugeWithoutSensors(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	g := &Gauge{Root: files, Now: time.Now}
	if s := g.Read(t.Context()); s.CPU != nil || s.TemperatureC != nil || s.MemoryBytes != nil || s.MemoryOfBytes != nil || s.Devices == nil || len(s.Devices) != 0 {
		t.Errorf("%+v", s)
	}
	files["proc/stat"] = &fstest.MapFile{Data: []byte("cpu  10 0 10 80 0 0 0 0 0 0\n")}
	files["sys/class/hwmon/hwmon0/name"] = &fstest.MapFile{Data: []byte("nvme\n")}
	files["sys/class/hwmon/hwmon0/temp1_input"] = &fstest.MapFile{Data: []byte("70000\n")}
	files["sys/class/hwmon/hwmon1/name"] = &fstest.MapFile{Data: []byte("k10temp\n")}
	files["sys/class/hwmon/hwmon1/temp1_input"] = &fstest.MapFile{Data: []byte("55500\n")}
	if s := g.Read(t.Context()); s.CPU != nil || s.TemperatureC == nil || *s.TemperatureC != 55.5 {
		t.Errorf("the first reading has no share yet: %+v", s)
	}
	files["proc/stat"].Data = []byte("cpu  60 0 10 130 0 0 0 0 0 0\n")
	if s := g.Read(t.Context()); s.CPU == nil || *s.CPU != 0.5 {
		t.Errorf("%+v", s)
	}
}

package live

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Accelerators reads how GPUs are: NVIDIA's by the program that comes with its driver, others by
// what their drivers show in /sys. It is for one caller at a time.
type Accelerators struct {
	Root fs.FS // of the machine; nil shows nothing
	// SMI runs nvidia-smi; nil where there is none.
	SMI func(ctx context.Context, args ...string) ([]byte, error)
	Now func() time.Time

	nvidia []Device
	next   time.Time // when NVIDIA's program is asked again
}

const (
	smiEvery = 2 * time.Second // it takes tens of milliseconds of a processor
	smiLimit = 2 * time.Second
	smiPause = time.Minute // after it failed
)

// smiFields are what the program is asked for, in this order.
var smiFields = []string{"uuid", "name", "utilization.gpu", "temperature.gpu", "memory.used", "memory.total"}

// Read is every accelerator that tells anything about itself.
func (a *Accelerators) Read(ctx context.Context) []Device {
	if now := a.Now(); a.SMI != nil && !now.Before(a.next) {
		limited, cancel := context.WithTimeout(ctx, smiLimit)
		text, err := a.SMI(limited, "--query-gpu="+strings.Join(smiFields, ","), "--format=csv,noheader,nounits")
		cancel()
		a.nvidia, a.next = nil, now.Add(smiPause) // what was known is old
		if err == nil {
			a.nvidia, a.next = parseSMI(string(text)), now.Add(smiEvery)
		}
	}
	return append(append([]Device{}, a.nvidia...), a.shown()...)
}

// parseSMI reads a line for each GPU. What a GPU does not tell stands there as [N/A] or
// [Not Supported], and is nil.
func parseSMI(text string) []Device {
	var out []Device
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != len(smiFields) {
			continue
		}
		number := func(i int) *float64 {
			v, err := strconv.ParseFloat(strings.TrimSpace(f[i]), 64)
			if err != nil || v < 0 {
				return nil
			}
			return &v
		}
		d := Device{ID: strings.TrimSpace(f[0]), Name: strings.TrimSpace(f[1]), TemperatureC: number(3), MemoryBytes: scaled(number(4), 1<<20), OfBytes: scaled(number(5), 1<<20)}
		if busy := number(2); busy != nil {
			share := min(1, *busy/100)
			d.Utilisation = &share
		}
		out = append(out, d)
	}
	return out
}

func scaled(v *float64, by int64) *int64 {
	if v == nil {
		return nil
	}
	n := int64(*v) * by
	return &n
}

// makers are the vendors of PCI devices, as /sys writes them. NVIDIA's driver shows nothing there.
var makers = map[string]string{"0x1002": "AMD GPU", "0x8086": "Intel GPU"}

// shown are the GPUs whose drivers tell how busy or how warm they are.
func (a *Accelerators) shown() []Device {
	if a.Root == nil {
		return nil
	}
	var out []Device
	cards, _ := fs.Glob(a.Root, "sys/class/drm/card*/device")
	for _, dir := range cards {
		id := path.Base(path.Dir(dir))
		maker := makers[a.text(dir+"/vendor")]
		if strings.Contains(id, "-") || maker == "" { // a connector, or another's
			continue
		}
		d := Device{ID: id, Name: maker, MemoryBytes: scaled(a.number(dir+"/mem_info_vram_used"), 1), OfBytes: scaled(a.number(dir+"/mem_info_vram_total"), 1)}
		if name := a.text(dir + "/product_name"); name != "" {
			d.Name = name
		}
		if busy := a.number(dir + "/gpu_busy_percent"); busy != nil {
			share := min(1, *busy/100)
			d.Utilisation = &share
		}
		inputs, _ := fs.Glob(a.Root, dir+"/hwmon/hwmon*/temp*_input")
		for _, f := range inputs {
			if milli := a.number(f); milli != nil {
				if c := *milli / 1000; d.TemperatureC == nil || c > *d.TemperatureC {
					d.TemperatureC = &c
				}
			}
		}
		if d.Utilisation != nil || d.TemperatureC != nil || d.MemoryBytes != nil {
			out = append(out, d)
		}
	}
	return out
}

func (a *Accelerators) text(name string) string {
	b, err := fs.ReadFile(a.Root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number is nil where the file is not there, or says nothing that makes sense.
func (a *Accelerators) number(name string) *float64 {
	v, err := strconv.ParseFloat(a.text(name), 64)
	if err != nil || v < 0 {
		return nil
	}
	return &v
}

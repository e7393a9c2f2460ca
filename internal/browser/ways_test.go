package browser

import (
	"errors"
	"testing"

	"assay/internal/detect"
)

func TestTryWays(t *testing.T) {
	t.Parallel()
	yes := true
	gpu := detect.WebGPU{Vendor: "nvidia"}
	soft := detect.WebGPU{Vendor: "google", Architecture: "swiftshader", Fallback: &yes}
	none := detect.WebGPU{Absent: "no adapter"}
	hung := detect.WebGPU{Error: "no answer within 10 s"}
	broken := detect.WebGPU{Vendor: "broken"} // the browser does not start this way
	vulkan := []way{{args: []string{"--vulkan"}}, {}, {software: true}}
	for name, c := range map[string]struct {
		ways   []way
		gives  []detect.WebGPU // for each way
		asked  int
		vendor string
		forced bool
		args   int
		fails  bool
	}{
		"a real one by vulkan":           {vulkan, []detect.WebGPU{gpu, soft, soft}, 1, "nvidia", false, 1, false},
		"a real one by itself":           {vulkan, []detect.WebGPU{none, gpu, soft}, 2, "nvidia", false, 0, false},
		"a real one after a software":    {vulkan, []detect.WebGPU{soft, gpu, soft}, 2, "nvidia", false, 0, false},
		"software by itself":             {vulkan[1:], []detect.WebGPU{soft, soft}, 1, "google", false, 0, false},
		"software when forced":           {vulkan, []detect.WebGPU{hung, none, soft}, 3, "google", true, 0, false},
		"none":                           {vulkan, []detect.WebGPU{hung, none, none}, 3, "", false, 0, false},
		"one way does not start":         {vulkan, []detect.WebGPU{broken, none, soft}, 3, "google", true, 0, false},
		"nothing starts":                 {vulkan, []detect.WebGPU{broken, broken, broken}, 3, "", false, 0, true},
		"none and nothing to be told to": {vulkan[1:2], []detect.WebGPU{none}, 1, "", false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			a, err := tryWays(c.ways, func(way) (detect.BrowserAnswer, error) {
				asked++
				g := c.gives[asked-1]
				if g.Vendor == "broken" {
					return detect.BrowserAnswer{}, errors.New("it does not start")
				}
				return detect.BrowserAnswer{Version: "1.2", WebGPU: g}, nil
			})
			if asked != c.asked || a.WebGPU.Vendor != c.vendor || a.Forced != c.forced || len(a.Args) != c.args || (err != nil) != c.fails {
				t.Errorf("asked %d times, got %+v (%v)", asked, a, err)
			}
		})
	}
}

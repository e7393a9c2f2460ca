package browser

import (
	"errors"
	"path/filepath"
	"runtime"

	"assay/internal/detect"
)

// way is a way to a browser's adapter.
type way struct {
	args     []string
	software bool
	open     func(kind string) bool // whether it can lead anywhere here; nil is yes
}

// ways are tried in their order.
var ways = []way{
	// Without a display Chromium on Linux draws by software, and has no real
	// adapter then, unless it is told to draw by Vulkan and on no surface. On
	// machines without a GPU it has none at all with that.
	{args: []string{"--use-angle=vulkan", "--disable-vulkan-surface"}, open: func(kind string) bool {
		return runtime.GOOS == "linux" && forces(kind) && hasGPU()
	}},
	{},
	{software: true, open: forces},
}

func waysOf(kind string) []way {
	var open []way
	for _, w := range ways {
		if w.open == nil || w.open(kind) {
			open = append(open, w)
		}
	}
	return open
}

// tryWays asks in each of the ways until there is a real adapter, and returns
// the best answer. The software adapter is forced only when there is no other.
func tryWays(ways []way, ask func(way) (detect.BrowserAnswer, error)) (detect.BrowserAnswer, error) {
	var best detect.BrowserAnswer
	var errs []error
	answered := false
	for _, w := range ways {
		if w.software && has(best) {
			break
		}
		answer, err := ask(w)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		answer.Forced, answer.Args = w.software, w.args
		if !answered || worth(answer) > worth(best) {
			best, answered = answer, true
		}
		if has(best) && !best.Software() {
			break
		}
	}
	if !answered {
		return best, errors.Join(errs...)
	}
	return best, nil
}

// worth ranks answers: a real adapter before a software one before none and,
// where that is the same, the way without anything special.
func worth(a detect.BrowserAnswer) int {
	rank := 0
	switch {
	case has(a) && !a.Software():
		rank = 4
	case has(a):
		rank = 2
	}
	if !a.Forced && a.Args == nil {
		rank++
	}
	return rank
}

// has reports whether the browser has an adapter.
func has(a detect.BrowserAnswer) bool {
	return a.Version != "" && a.WebGPU.Absent == "" && a.WebGPU.Error == ""
}

// gpuNodes are the files by which programs on Linux reach a GPU.
var gpuNodes = []string{"/dev/dri/renderD*", "/dev/nvidia[0-9]*", "/dev/dxg"}

func hasGPU() bool {
	for _, pattern := range gpuNodes {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

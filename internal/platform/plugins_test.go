package platform

import (
	"slices"
	"strings"
	"testing"
)

// TestPlugins: the platforms of torch's plug-ins are targets like others, and
// none of the eight.
func TestPlugins(t *testing.T) {
	t.Parallel()
	for _, n := range Plugins() {
		p, ok := Get(n)
		if !ok || p.Title == "" || !p.Runs || !slices.Equal(p.Engines, []Engine{Torch}) {
			t.Errorf("%s lacks a title or a runner, or is not run by torch: %+v", n, p)
		}
		if p.Fallback[len(p.Fallback)-1] != CPU {
			t.Errorf("%s falls back to %v, which does not end at the CPU", n, p.Fallback)
		}
		if !n.IsPlugin() || slices.Contains(Names(), n) {
			t.Errorf("%s is one of the eight", n)
		}
		got, err := ParseTarget(string(n) + ":0")
		if err != nil || got != (Target{n, "0", Torch, ""}) || got.String() != string(n) {
			t.Errorf("%s:0 is %+v, %v", n, got, err)
		}
	}
	if CUDA.IsPlugin() || CPU.Place() != 0 || XPU.Place() != 8 || Name("none").Place() <= XLA.Place() {
		t.Error("the eight do not stand before the platforms of plug-ins, and those before what nobody knows")
	}
	if _, err := Parse("xlaa"); err == nil || !strings.Contains(err.Error(), "xpu, hpu, npu, xla: did you mean xla?") {
		t.Errorf("an unknown platform's error does not name those of plug-ins: %v", err)
	}
}

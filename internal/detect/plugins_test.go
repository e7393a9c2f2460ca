package detect

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/platform"
)

var bare = Sighting{OS: "linux", Platforms: map[platform.Name]Seen{platform.CPU: {Devices: []Device{{ID: "cpu", Name: "a processor"}}}}}

// asked is a report in which torch gave this answer.
func asked(answer string) Report {
	return Judge(bare, Answers{"torch": {Data: json.RawMessage(answer)}})
}

// TestPluginsStandBesideTheEightWhereTheyAre: what torch has a plug-in for is
// listed; what it has none for answers to its name alone, and says what to do.
func TestPluginsStandBesideTheEightWhereTheyAre(t *testing.T) {
	t.Parallel()
	r := asked(`{"version":"2.15.0","xpu":[{"name":"Arc B580","memory_bytes":12884901888}],"plugins":{
		"xla":{"package":"torch_xla","software":true,"devices":[{"name":"XLA on CPU","memory_bytes":null}],"error":""},
		"npu":{"package":"torch_npu","devices":[],"error":"libascendcl.so is not there"}}}`)
	if n := len(r.Platforms); n != 10 {
		t.Fatalf("%d platforms are listed, want the eight and two", n)
	}
	xpu, xla := r.Platforms[8], r.Platforms[9]
	if xpu.Platform != platform.XPU || xpu.Status != Present || !xpu.Seen || xpu.Devices[0].Name != "Arc B580" || xpu.Engine.Version != "2.15.0" {
		t.Errorf("xpu: %+v", xpu)
	}
	if xla.Platform != platform.XLA || xla.Status != Present || !xla.Devices[0].Software || xla.Devices[0].MemoryBytes != nil {
		t.Errorf("xla: %+v", xla)
	}
	for name, want := range map[platform.Name]string{platform.NPU: "libascendcl.so is not there", platform.HPU: "torch 2.15.0 has no plug-in for hpu"} {
		p, ok := r.Only(name).Get(name)
		if !ok || p.Status != Absent || p.Engine != nil || p.Hint == "" || p.Devices == nil {
			t.Errorf("%s, asked for by its name: %+v", name, p)
		}
		if said := p.Evidence[len(p.Evidence)-1]; said.Source != "missing" || said.Detail != want {
			t.Errorf("%s: %+v, want it to say %q", name, said, want)
		}
	}
	if only := r.Only(platform.XLA, platform.HPU); len(only.Platforms) != 2 {
		t.Errorf("two that were named are %d rows", len(only.Platforms))
	}
	var text bytes.Buffer
	if err := Text(&text, r, TextOptions{}); err != nil || !strings.Contains(text.String(), "xla       present  torch 2.15.0") || strings.Contains(text.String(), "hpu") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestPluginsThatNobodyAskedFor: without an answer nothing is known of them, and
// the report has the eight alone.
func TestPluginsThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	r := Judge(bare, nil)
	if len(r.Platforms) != 8 {
		t.Errorf("%d platforms", len(r.Platforms))
	}
	if p, ok := r.Get(platform.XPU); !ok || p.Status != Unknown || p.Hint != setupHint {
		t.Errorf("%+v", p)
	}
	for _, n := range platform.Plugins() {
		if err := Known(platform.Target{Platform: n, Device: "3"}); err != nil {
			t.Error(err)
		}
		if err := Known(platform.Target{Platform: n, Device: "gpu"}); err == nil {
			t.Errorf("%s:gpu is a device", n)
		}
	}
}

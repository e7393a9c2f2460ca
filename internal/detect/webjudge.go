package detect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/platform"
)

// PackedBrowser is the name of the Chromium in Assay's web environment.
const PackedBrowser = "packed"

// WebProbe is the question for the web environment's version of ONNX Runtime,
// and BrowserProbe what stands before a browser's name in its question.
const (
	WebProbe     = "web"
	BrowserProbe = "browser-"
)

// browserLimit is how long a browser may take to start and to answer, which it
// may have to do twice.
const browserLimit = 2 * time.Minute

// BrowserQuestions returns the questions for browsers and for the web
// environment. They are asked only where there are browsers.
func BrowserQuestions(browsers []Browser) []Question {
	if len(browsers) == 0 {
		return nil
	}
	questions := []Question{{WebProbe, 10 * time.Second}}
	for _, b := range browsers {
		questions = append(questions, Question{BrowserProbe + b.Name, browserLimit})
	}
	return questions
}

// webVersion is the answer to WebProbe.
type webVersion struct {
	ORTWeb string `json:"onnxruntime-web"`
}

// answered puts what browsers said beside what was seen of them. The packed
// Chromium is not to be seen from outside: its answer is all there is.
func answered(seen []Browser, a Answers) []Browser {
	all := append([]Browser{}, seen...)
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(b Browser) bool { return b.Name == name })
	}
	if _, asked := a[BrowserProbe+PackedBrowser]; asked && !has(PackedBrowser) {
		all = append([]Browser{{Name: PackedBrowser}}, all...)
	}
	for i, b := range all {
		var said BrowserAnswer
		if a[BrowserProbe+b.Name].into(&said) && said.Version != "" {
			all[i].Path, all[i].Answer = said.Path, &said
		}
	}
	return all
}

// setupWebHint is what to do when there is no web environment.
const setupWebHint = `run "assay setup web" to install what pages need` //nolint:gosec // no secret

// Judge weighs what each browser said about itself.
func (w webProbe) Judge(s Sighting, a Answers) Platform {
	p := Platform{Platform: w.name, Evidence: s.Platforms[w.name].Evidence}
	browsers := answered(s.Browsers, a)
	if names, set := s.Environment[BrowsersVariable]; set && len(browsers) == 0 {
		return p.absent(fmt.Sprintf("%s=%s excludes every browser here", BrowsersVariable, names), "unset it, or name another browser")
	}
	if len(browsers) == 0 {
		return p.absent("no browser is installed", w.noBrowser(s))
	}
	p.Seen = true
	silent := 0
	for _, b := range browsers {
		if b.Answer == nil {
			silent++
			p.ask(a, BrowserProbe+b.Name, b.Name)
			continue
		}
		webDevices[w.name](&p, s, *b.Answer)
	}
	slices.SortStableFunc(p.Devices, func(a, b Device) int { return rank(a) - rank(b) })
	w.conclude(&p, a, silent, len(browsers))
	return p
}

// rank puts real devices before software ones: the first is what a target
// without a browser's name means.
func rank(d Device) int {
	if d.Software {
		return 1
	}
	return 0
}

// noBrowser is what to do without one. Where Assay brings a Chromium of its
// own, nothing needs to be installed by hand.
func (w webProbe) noBrowser(s Sighting) string {
	const install = "install Chromium, Chrome, Edge or Firefox"
	if s.OS == "linux" && s.Arch == "amd64" {
		return install + "; or let Assay install its own Chromium: assay setup web"
	}
	return install
}

// conclude gives the status: a platform is present when a browser has it and
// what runs there is installed.
func (w webProbe) conclude(p *Platform, a Answers, silent, asked int) {
	var web webVersion
	known := a[WebProbe].into(&web) && web.ORTWeb != ""
	switch {
	case len(p.Devices) > 0 && known:
		p.Status, p.Engine = Present, &Engine{platform.ORTWeb, web.ORTWeb}
	case len(p.Devices) > 0:
		p.Status, p.Hint = Unknown, setupWebHint
	case silent == asked:
		p.Status, p.Hint = Unknown, "the browser was not asked for its adapter, or did not answer"
		if a[WebProbe].Skipped {
			p.Hint = firstHint
		}
	default:
		p.absentFor("no browser here has it", webHints[w.name])
	}
}

var webHints = map[platform.Name]string{
	platform.WebNN:  setupWebHint + ": on Linux x86-64 it installs a Chromium that has WebNN; elsewhere install a current Chrome or Edge",
	platform.WebGPU: "install a current Chrome, Edge or Firefox, and the driver of the GPU; " + setupWebHint,
}

// webDevices adds the devices that one browser has of each platform.
var webDevices = map[platform.Name]func(p *Platform, s Sighting, b BrowserAnswer){
	platform.WebNN:  addWebNN,
	platform.WebGPU: addWebGPU,
}

func addWebGPU(p *Platform, s Sighting, b BrowserAnswer) {
	g := b.WebGPU
	if why := g.Absent + g.Error; why != "" {
		p.note(b.Kind, why)
		return
	}
	how := ""
	if b.Forced {
		how = ", asked for because there is no other"
	}
	p.note(b.Kind, fmt.Sprintf("%s does WebGPU by %s%s, with %d features; %s", b.Version, g.name(), how, len(g.Features), g.limits()))
	p.Devices = append(p.Devices, Device{ID: "gpu", Name: g.name(), Browser: b.Kind, Software: b.Software(),
		Features: usable(g.Features), Settings: webGPUSettings(b, s.CPU)})
}

// name is what the browser says about its adapter. Some say nothing.
func (g WebGPU) name() string {
	var words []string
	for _, w := range []string{g.Vendor, g.Architecture, g.Device, g.Description} {
		if w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return orUnnamed(strings.Join(words, " "), "an adapter that the browser does not name")
}

func (g WebGPU) limits() string {
	return fmt.Sprintf("buffers of %s, %d invocations per workgroup", Bytes(g.Limits["maxStorageBufferBindingSize"]), g.Limits["maxComputeInvocationsPerWorkgroup"])
}

// softwareAdapters are names of adapters that compute on the processor.
var softwareAdapters = []string{"swiftshader", "llvmpipe", "lavapipe", "softpipe", "warp", "microsoft basic render"}

// Software reports whether the adapter is the processor: by the browser's own
// word, by its name, or because there was nothing else.
func (b BrowserAnswer) Software() bool {
	return b.Forced || b.WebGPU.Fallback != nil && *b.WebGPU.Fallback || SoftwareAdapter(b.WebGPU.name())
}

// SoftwareAdapter reports whether a WebGPU adapter's name is that of one that
// computes on the processor.
func SoftwareAdapter(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(softwareAdapters, func(s string) bool { return strings.Contains(name, s) })
}

// usefulFeatures are those that change how a model is run.
var usefulFeatures = []string{"shader-f16", "subgroups", "timestamp-query"}

func usable(features []string) []string {
	return slices.DeleteFunc(slices.Clone(usefulFeatures), func(f string) bool { return !slices.Contains(features, f) })
}

func addWebNN(p *Platform, s Sighting, b BrowserAnswer) {
	if why := b.WebNN.Absent + b.WebNN.Error; why != "" {
		p.note(b.Kind, why)
		return
	}
	for _, d := range b.WebNN.Devices {
		if !d.Computes {
			p.note(b.Kind, fmt.Sprintf("WebNN's %s: %s", d.Type, d.Error))
			continue
		}
		if why := alias(d.Type, s, b); why != "" {
			p.note(b.Kind, fmt.Sprintf("WebNN's %s is the processor under another name: %s", d.Type, why))
			continue
		}
		p.note(b.Kind, fmt.Sprintf("%s computes on WebNN's %s, with %d operations", b.Version, d.Type, len(d.Operations)))
		p.Devices = append(p.Devices, Device{ID: d.Type, Name: mlName(d.Type, s, b), Browser: b.Kind, Features: mlFeatures(d), Settings: webNNSettings(d, s.CPU)})
	}
}

// aliases say when a type of device that WebNN gives is the processor all the
// same. A browser gives a context for any type that is asked for, and does not
// say what is behind it. The first row that holds decides.
var aliases = []struct {
	holds func(kind string, s Sighting, b BrowserAnswer) bool
	why   string
}{
	{func(_ string, s Sighting, _ BrowserAnswer) bool { return s.OS == "linux" },
		"on Linux Chromium computes with TFLite and XNNPACK, which run only on the processor"},
	{func(kind string, _ Sighting, b BrowserAnswer) bool {
		return kind == "gpu" && (b.WebGPU.Absent != "" || b.WebGPU.Error != "" || b.Software())
	}, "the browser has no real GPU adapter"},
	{func(kind string, s Sighting, _ BrowserAnswer) bool {
		return kind == "npu" && s.OS == "darwin" && s.Arch != "arm64"
	}, "only Macs with Apple's own chips have a Neural Engine"},
}

func alias(kind string, s Sighting, b BrowserAnswer) string {
	if kind == "cpu" {
		return ""
	}
	for _, row := range aliases {
		if row.holds(kind, s, b) {
			return row.why
		}
	}
	return ""
}

func mlName(kind string, s Sighting, b BrowserAnswer) string {
	switch kind {
	case "cpu":
		return orUnnamed(s.CPU.Model, strings.TrimSpace(s.Arch+" processor"))
	case "gpu":
		return b.WebGPU.name()
	}
	return "the NPU that the browser uses"
}

// mlFeatures are the dtypes that matrices can be multiplied in.
func mlFeatures(d WebNNDevice) []string {
	short := map[string]string{"float32": "fp32", "float16": "fp16", "int8": "int8"}
	var names []string
	for _, t := range d.Matmul {
		if s, ok := short[t]; ok {
			names = append(names, s)
		}
	}
	return names
}

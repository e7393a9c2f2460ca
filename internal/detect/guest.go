package detect

import (
	"encoding/json"

	"assay/internal/platform"
)

// JudgeGuest judges a machine of which a browser alone speaks: somebody opened
// a page of ours there. Only what lives in browsers is judged; a GPU that the
// browser has is part of what tells the host from others. Engine is the version
// of ONNX Runtime Web that its pages load.
func JudgeGuest(s Sighting, b BrowserAnswer, engine string) (Report, error) {
	version, err := json.Marshal(webVersion{engine})
	if err != nil {
		return Report{}, err
	}
	said, err := json.Marshal(b)
	if err != nil {
		return Report{}, err
	}
	answers := Answers{WebProbe: {Data: version}, BrowserProbe + b.Kind: {Data: said}}
	s.Browsers = []Browser{{Name: b.Kind}}
	r := Report{
		Schema: Schema, CPU: s.CPU, Memory: s.Memory, Browsers: answered(s.Browsers, answers),
		Accelerators: []Accelerator{}, Environment: map[string]string{},
	}
	for _, name := range []platform.Name{platform.WebNN, platform.WebGPU} {
		r.Platforms = append(r.Platforms, finish(webProbe{name}.Judge(s, answers), Seen{}))
	}
	s.Platforms = map[platform.Name]Seen{platform.WebGPU: {Hardware: realDevices(r)}}
	r.Host = host(s)
	return r, nil
}

// realDevices are the WebGPU adapters of a report that are not software.
func realDevices(r Report) []string {
	p, _ := r.Get(platform.WebGPU)
	var names []string
	for _, d := range p.Devices {
		if !d.Software {
			names = append(names, d.Name)
		}
	}
	return names
}

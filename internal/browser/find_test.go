package browser

import (
	"strings"
	"testing"

	"assay/internal/detect"
	"assay/internal/platform"
)

func TestSuited(t *testing.T) {
	t.Parallel()
	found := []Options{{Kind: Packed}, {Kind: Chromium}, {Kind: Firefox}, {Kind: Edge}}
	said := func(name string, forced bool) detect.Browser {
		return detect.Browser{Name: name, Answer: &detect.BrowserAnswer{Forced: forced}}
	}
	r := detect.Report{
		Browsers: []detect.Browser{said(Packed, true), said(Chromium, false), said(Firefox, false), {Name: Edge}},
		Platforms: []detect.Platform{
			{Platform: platform.WebGPU, Devices: []detect.Device{{Browser: Packed, Software: true}, {Browser: Firefox}}},
			{Platform: platform.WebNN, Devices: []detect.Device{{Browser: Packed}}},
		},
	}
	for name, want := range map[platform.Name]string{
		platform.WebGPU: "firefox packed(software) edge", // Edge was not asked; Chromium has none
		platform.WebNN:  "packed(software) edge",
	} {
		var got []string
		for _, o := range Suited(found, r, name) {
			kind := o.Kind
			if o.Software {
				kind += "(software)"
			}
			got = append(got, kind)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	if all := Suited(found, detect.Report{}, platform.WebGPU); len(all) != len(found) {
		t.Errorf("nobody was asked, and %d of %d are suited", len(all), len(found))
	}
}

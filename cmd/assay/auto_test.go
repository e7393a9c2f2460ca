package main

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/detect"
	"assay/internal/platform"
)

// What auto came to is said, and once of each target.
func TestAutoSaysWhatItMeans(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	a := &app{env: &env{stderr: &b}}
	for _, p := range []platform.Name{platform.OpenVINO, platform.OpenVINO, platform.CPU} {
		a.sayAuto(detect.Choice{Target: platform.Target{Platform: p}.Normal(), Reason: "it is the best here"})
	}
	want := "platform auto is openvino here: it is the best here (--platform names another)\nplatform auto is cpu here: it is the best here (--platform names another)\n"
	if got := b.String(); got != want {
		t.Errorf("said %q, want %q", strings.TrimSpace(got), want)
	}
}

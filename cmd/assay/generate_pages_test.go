package main

import (
	"slices"
	"testing"
)

// TestRunDevices: the tests of skills run on one device after the other, those
// of models on all at once, and a name that is none is refused before.
func TestRunDevices(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		device string
		alone  bool
		want   []string // nil: refused
	}{
		{"cpu", false, []string{"cpu"}},
		{"CPU,openvino", false, []string{"cpu,openvino"}},
		{"cpu, WebGPU", true, []string{"cpu", "webgpu"}},
		{"auto", true, []string{"auto"}},
		{"abacus", true, nil},
		{"cpu,", true, nil},
		{"", false, nil},
	} {
		f := &runFlags{device: tc.device, alone: tc.alone, workers: 1}
		if err := f.valid(); (err == nil) != (tc.want != nil) {
			t.Errorf("%q: %v", tc.device, err)
		}
		if got := f.devices(); tc.want != nil && !slices.Equal(got, tc.want) {
			t.Errorf("%q, each by itself %v: %v", tc.device, tc.alone, got)
		}
	}
	for device, want := range map[string]bool{"webnn": true, "webgpu": true, "cpu": false, "openvino": false, "auto": false} {
		if inPages(device) != want {
			t.Errorf("%s runs in a page: %v", device, !want)
		}
	}
}

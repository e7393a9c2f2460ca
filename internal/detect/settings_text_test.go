package detect

import (
	"strings"
	"testing"

	"assay/internal/platform"
)

// What holds for many devices in a row is said once, after the last of them.
func TestSettingsAreSaidOnce(t *testing.T) {
	t.Parallel()
	s, other := &Settings{DType: platform.FP16, Batch: 1, Threads: 1, Why: "so it is"}, &Settings{DType: platform.INT8, Batch: 1, Threads: 1, Why: "so it is"}
	again := *s
	var b strings.Builder
	r := Report{Platforms: []Platform{{Platform: platform.QNN, Status: Present, Devices: []Device{{ID: "a", Settings: s}, {ID: "b", Settings: &again}, {ID: "c", Settings: other}}}}}
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "settings: fp16"); n != 1 || strings.Count(b.String(), "settings: int8") != 1 {
		t.Errorf("settings are said %d times:\n%s", n, b.String())
	}
}

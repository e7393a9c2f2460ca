package spelling

import (
	"testing"

	"pgregory.net/rapid"
)

func TestMeant(t *testing.T) {
	t.Parallel()
	browsers := []string{"packed", "chromium", "chrome", "edge", "firefox", "safari"}
	for _, tc := range []struct {
		typed string
		names []string
		want  string
	}{
		{"chrom", browsers, "chrome"},
		{"firefx", browsers, "firefox"},
		{"Frefox", browsers, "firefox"},
		{"netscape", browsers, ""},
		{"", browsers, ""},
		{"npu", []string{"CPU", "GPU", "NPU"}, "NPU"},
		{"XPU", []string{"CPU", "GPU", "NPU"}, ""}, // as near to each
		{"sm8560", []string{"sm8550", "sm8450"}, "sm8550"},
		{"sm9999", []string{"sm8550", "sm8650"}, ""},
		{"x", nil, ""},
	} {
		if got := Meant(tc.typed, tc.names); got != tc.want {
			t.Errorf("Meant(%q, %v) = %q, want %q", tc.typed, tc.names, got, tc.want)
		}
	}
}

func TestEditsIsADistance(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-c]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		n := Edits(a, b)
		if (n == 0) != (a == b) || n != Edits(b, a) || n > max(len(a), len(b)) || n < max(len(a), len(b))-min(len(a), len(b)) {
			t.Fatalf("Edits(%q, %q) = %d, and %d the other way", a, b, n, Edits(b, a))
		}
	})
}

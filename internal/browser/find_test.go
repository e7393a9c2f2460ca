package browser

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/detect"
)

func TestAsAsked(t *testing.T) {
	t.Parallel()
	r := detect.Report{Browsers: []detect.Browser{
		{Name: Packed, Answer: &detect.BrowserAnswer{Forced: true}},
		{Name: Chrome, Answer: &detect.BrowserAnswer{Args: []string{"--use-angle=vulkan"}}},
		{Name: Firefox},
	}}
	for _, c := range []struct{ o, want Options }{
		{Options{Kind: Packed, Path: "/p"}, Options{Kind: Packed, Path: "/p", Software: true}},
		{Options{Kind: Chrome, Args: []string{"--mine"}}, Options{Kind: Chrome, Args: []string{"--mine", "--use-angle=vulkan"}}},
		{Options{Kind: Firefox}, Options{Kind: Firefox}},
		{Options{Kind: Edge}, Options{Kind: Edge}},
	} {
		if diff := cmp.Diff(c.want, AsAsked(c.o, r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.o.Kind, diff)
		}
	}
}

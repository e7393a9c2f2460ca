package weblab

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/progress"
)

// TestMessages: what the page is told about each event is what its script reads.
func TestMessages(t *testing.T) {
	t.Parallel()
	c := cell.Cell{Type: "bert", Target: "webgpu@chrome"}.Normal()
	for _, tt := range []struct {
		event progress.Event
		want  string // the beginning
	}{
		{progress.Planned(3), `{"kind":"planned","cells":3}`},
		{progress.Started(c), `{"kind":"started","model":"bert","target":"webgpu@chrome"}`},
		{progress.Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured}), `{"kind":"finished","model":"bert","size":"tiny","weights":"random","target":"webgpu@chrome","verdict":"works","word":"works"`},
		{progress.Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Derived}), `{"kind":"finished","model":"bert","size":"tiny","weights":"random","target":"webgpu@chrome","verdict":"should-work","word":"should work","evidence":"derived"`},
		{progress.Note("loading"), `{"kind":"note","text":"loading"}`},
		{progress.Event{Kind: "later"}, `null`},
	} {
		b, err := json.Marshal(messageOf(tt.event))
		if err != nil || !strings.HasPrefix(string(b), tt.want) {
			t.Errorf("%s: %s, %v", tt.event.Kind, b, err)
		}
	}
}

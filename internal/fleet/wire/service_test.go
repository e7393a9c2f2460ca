package wire

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// What a consumer of a stream delivers, and what asks for an answer to JetStream's own
// subjects, is not taken for a request: both would act with the coordinator's rights.
func TestMeant(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subscribed, published, reply string
		want                         bool
	}{
		"a request":            {Office + "submit.*", Office + "submit.anna", "_INBOX.a.b", true},
		"a worker's request":   {Desk + "finish.*", Desk + "finish.lab-3", "_INBOX.a.b", true},
		"delivered by another": {Office + "submit", "assay.task.cpu.x", "_INBOX.a.b", false},
		"another's subject":    {Desk + "finish.*", "assay.task.cpu.x", "_INBOX.a.b", false},
		"an order as reply":    {Desk + "finish.*", Desk + "finish.lab-3", "$JS.API.STREAM.DELETE.ASSAY_TASKS", false},
		"nobody to answer":     {Office + "submit.*", Office + "submit.anna", "", false},
	} {
		if got := meant(c.subscribed, &nats.Msg{Subject: c.published, Reply: c.reply}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

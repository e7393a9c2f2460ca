package jetstream

import (
	"context"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/platform"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A batch that is never answered, because the server that took it is lost, keeps nobody for long.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if _, err := nc.Subscribe(subjects+">", func(*nats.Msg) {}); err != nil { // in the stream's place
		t.Fatal(err)
	}
	q, err := Open(nc, fleet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var tasks []fleet.Task
	for i := range batchLeast {
		tasks = append(tasks, fleet.NewTask(cell.Cell{Type: "noop", Engine: platform.Noop, Seed: i}, cell.Plan{}, fleet.Needs{}))
	}
	put := make(chan error, 1)
	go func() { put <- q.putAll(context.WithoutCancel(t.Context()), tasks) }()
	select {
	case err := <-put:
		if err == nil {
			t.Error("nobody has said that the tasks are stored")
		}
	case <-time.After(receiptWithin + 10*time.Second):
		t.Fatal("it waits for ever")
	}
}

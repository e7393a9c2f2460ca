// Reopened closes and opens the store of a NATS server ten times while clients use it: go run -race . The race detector
// tells what it sees.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// must ends the program for what the program itself does wrong.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	dir := must(os.MkdirTemp("", "reopened-"))
	s := must(server.NewServer(&server.Options{Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir, SyncAlways: true}))
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("the server did not start")
	}
	js := must(must(nats.Connect(s.ClientURL())).JetStream())
	must(js.AddStream(&nats.StreamConfig{Name: "work", Subjects: []string{"work.>"}, Retention: nats.WorkQueuePolicy}))
	for i := range 4 {
		go use(s.ClientURL(), fmt.Sprintf("work.%d", i))
	}
	for range 10 {
		time.Sleep(time.Second)
		must(0, s.ShutdownJetStream())
		must(0, s.EnableJetStream(&server.JetStreamConfig{StoreDir: dir}))
	}
	must(0, os.RemoveAll(dir))
}

// use sends and takes messages for ever, whatever the server says.
func use(url, subject string) {
	js := must(must(nats.Connect(url)).JetStream())
	for {
		sub, err := js.PullSubscribe(subject, "", nats.BindStream("work"))
		for err == nil {
			_, failed := js.Publish(subject, make([]byte, 4096))
			got, none := sub.Fetch(1, nats.MaxWait(100*time.Millisecond))
			for _, m := range got {
				_ = m.Ack()
			}
			err = errors.Join(failed, none)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

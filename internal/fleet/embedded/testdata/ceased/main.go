// Ceased fills the disk of a NATS server, makes room again, and sends to its stream: go run . FOLDER, which is a small disk
// (mount -t tmpfs -o size=12m none FOLDER).
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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
	dir := os.Args[1]
	s := must(server.NewServer(&server.Options{Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir, SyncAlways: true, JetStreamMaxStore: 1 << 50}))
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("the server did not start")
	}
	js := must(must(nats.Connect(s.ClientURL())).JetStream())
	must(js.AddStream(&nats.StreamConfig{Name: "work", Subjects: []string{"work"}}))
	send := func() error {
		_, err := js.Publish("work", make([]byte, 4096))
		return err
	}
	must(0, send())
	fill := filepath.Join(dir, "fill")
	_ = os.WriteFile(fill, bytes.Repeat([]byte{1}, 1<<30), 0o600) // as much as there is room for
	var err error
	for range 100 {
		if err = send(); err != nil {
			break
		}
	}
	fmt.Printf("the disk is full:  %v; JetStream is enabled: %v\n", err, s.JetStreamEnabled())
	must(0, os.Remove(fill))
	time.Sleep(10 * time.Second)
	err = send()
	fmt.Printf("there is room:     %v; JetStream is enabled: %v\n", err, s.JetStreamEnabled())
	s.Shutdown()
	s.WaitForShutdown()
	if err == nil {
		fmt.Println("gone")
	} else {
		fmt.Println("shows")
	}
}

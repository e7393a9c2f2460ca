//go:build linux

package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/keys"
)

// TestFleetFullDisk: a coordinator's disk is full in the middle of a sweep, and has room again after a while: nothing is lost, nothing
// is counted twice, and the sweep ends. Only root may make such a disk.
func TestFleetFullDisk(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	dir := filepath.Join(p.dir, "fleet")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=12m", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be made here: %v, %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	at := p.coordinator(t)
	for _, name := range []string{"a", "b"} {
		joinFleet(t, keys.Ticket{URL: at}, name)
	}
	const cells = 3000
	done := make(chan int, 1)
	go func() {
		done <- len(p.report(t, 0, "test", "--plan", p.noops(t, "many", cells), "--fleet", at).Results)
	}()
	p.underWay(t, at, cells)
	fill := filepath.Join(dir, "fill")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	_, full := io.Copy(f, zeros{})
	if err := f.Close(); full == nil || err != nil {
		t.Fatalf("the disk is not full: %v, %v", full, err)
	}
	time.Sleep(5 * time.Second)
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-done:
		if n != cells {
			t.Errorf("%d results", n)
		}
	case <-time.After(3 * time.Minute):
		text, _, _ := p.run(t, "fleet", "status", "--fleet", at)
		t.Fatalf("the sweep does not end:\n%s", text)
	}
}

// underWay waits until a sweep was sent whole, and some of it is done.
func (p *program) underWay(t *testing.T, at string, cells int) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var s fleet.Status
		if err := json.Unmarshal([]byte(p.ok(t, "fleet", "status", "--json", "--fleet", at)), &s); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for _, n := range s.Tasks {
			sent += n
		}
		if sent == cells && s.Tasks[fleet.Done] > 0 {
			t.Logf("the disk is filled with %d of %d cells done", s.Tasks[fleet.Done], cells)
			return
		}
	}
	t.Fatal("the sweep was not sent")
}

// zeros never end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

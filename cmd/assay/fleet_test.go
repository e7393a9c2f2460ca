package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/jetstream"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/wire"
	"assay/internal/fleet/worker"
	"assay/internal/platform"
	"assay/internal/progress"
)

// coordinator starts assay coordinator and returns where it is.
func (p *program) coordinator(t *testing.T, args ...string) (url string) {
	t.Helper()
	c := p.command(t.Context(), append([]string{"coordinator", "--addr", "127.0.0.1:0", "--dir", filepath.Join(p.dir, "fleet")}, args...)...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for url == "" && lines.Scan() {
		for _, word := range strings.Fields(strings.ReplaceAll(lines.Text(), ",", " ")) {
			if strings.HasPrefix(word, "nats://") || strings.HasPrefix(word, "tls://") {
				url = word
			}
		}
	}
	if url == "" {
		t.Fatal("the coordinator did not start")
	}
	go func() {
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	t.Cleanup(func() { _ = c.Process.Signal(os.Interrupt); _ = c.Wait() })
	return url
}

// works is a machine on which every cell works.
type everythingWorks struct{}

func (everythingWorks) Carry(_ context.Context, plan cell.Plan, on progress.Listener) error {
	for _, c := range plan.Cells {
		r := resultOf(c)
		r.StartedAt = time.Now().UTC()
		if err := on.Hear(progress.Finished(r)); err != nil {
			return err
		}
	}
	return nil
}

// joinFleet has a worker in this process join.
func joinFleet(t *testing.T, ticket keys.Ticket, name string) {
	t.Helper()
	joinFleetWith(t, ticket, name, everythingWorks{})
}

// joinFleetWith has a worker in this process join that runs cells in its own way.
func joinFleetWith(t *testing.T, ticket keys.Ticket, name string, carrier worker.Carrier) {
	t.Helper()
	nc, err := ticket.Connect(wire.Options{Name: name, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	q, err := jetstream.Open(nc, fleet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(nc, name, 5*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = worker.New(worker.Config{
			Announcement: fleet.Announcement{
				Protocol: fleet.Protocol, Worker: name, Incarnation: name + "-1", Slots: 1, Where: name,
				Host:   cell.Host{ID: "elsewhere", OS: "linux", Arch: "arm64", CPU: "another CPU", Cores: 4},
				Offers: []fleet.Offer{{Target: platform.Target{Platform: platform.CPU, Engine: platform.Noop}.Normal()}, {Target: platform.Target{Platform: platform.CPU}.Normal()}},
			},
			Desk: client, Queue: q, Carrier: carrier, Hear: client.Hear,
			Check: func(context.Context) (string, []cell.Result) { return "", nil },
		}).Run(ctx)
	})
	t.Cleanup(func() { cancel(); wg.Wait(); nc.Close() })
}

// TestFleetEndToEnd: a sweep that is sent to a fleet lands in the user's store, and
// the fleet can be looked at and steered.
func TestFleetEndToEnd(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	at := p.coordinator(t)
	joinFleet(t, keys.Ticket{URL: at}, "lab-1")
	plan := filepath.Join(p.dir, "plan.json")
	if err := os.WriteFile(plan, []byte(`{"cells":[{"type":"noop","engine":"noop"},{"type":"noop","engine":"noop","seed":2},{"type":"bert"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.report(t, 0, "test", "--plan", plan, "--fleet", at)
	if len(r.Results) != 3 || r.Host.ID != "elsewhere" {
		t.Errorf("%d results of %s", len(r.Results), r.Host.ID)
	}
	if n := p.count(t); n != 3 {
		t.Errorf("the store has %d results", n)
	}
	var rows struct{ Rows []struct{ Imported bool } }
	if err := json.Unmarshal([]byte(p.ok(t, "query", "--json", "--sql", "select imported from hardware_results")), &rows); err != nil || len(rows.Rows) != 3 || !rows.Rows[0].Imported {
		t.Errorf("results of another machine are taken for this one's: %v, %+v", err, rows)
	}
	if text := p.ok(t, "fleet", "status", "--fleet", at); !strings.Contains(text, "3 done") || !strings.Contains(text, "3 of 3 answered") {
		t.Error(text)
	}
	p.ok(t, "fleet", "outliers", "--fleet", at)
	if text := p.ok(t, "fleet", "workers", "--fleet", at); !strings.Contains(text, "lab-1") || !strings.Contains(text, "cpu/noop") {
		t.Error(text)
	}
	if text := p.ok(t, "fleet", "tasks", "--fleet", at, "--state", "done"); strings.Count(text, "lab-1 accepted") != 3 {
		t.Error(text)
	}
	// What nobody can run is told with what is missing, and the rest has its results.
	stdout, stderr, status := p.run(t, "test", "bert", "--platform", "cpu,cuda", "--strict", "--fleet", at)
	if status != exitUnavailable || !strings.Contains(stdout+stderr, "lab-1 lacks cuda") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	p.ok(t, "fleet", "quarantine", "lab-1", "--why", "it is hot", "--fleet", at)
	if stdout, stderr, status := p.run(t, "test", "vit", "--platform", "cpu", "--strict", "--fleet", at); status != exitUnavailable || !strings.Contains(stdout+stderr, "lab-1 is quarantined (assay fleet release lab-1)") {
		t.Errorf("with everybody quarantined: status %d\n%s%s", status, stdout, stderr)
	}
	if text := p.ok(t, "fleet", "workers", "--fleet", at); !strings.Contains(text, "it is hot") {
		t.Error(text)
	}
	p.ok(t, "fleet", "release", "lab-1", "--fleet", at)
	if _, stderr, status := p.run(t, "fleet", "cancel", r.Run.ID, "--fleet", at); status != exitProgram || !strings.Contains(stderr, "is over") {
		t.Errorf("a sweep that is over was cancelled: status %d, %s", status, stderr)
	}
	for _, args := range [][]string{
		{"fleet", "drain", "nobody", "--fleet", at},
		{"fleet", "cancel", "no-sweep", "--fleet", at},
	} {
		if _, stderr, status := p.run(t, args...); status != exitProgram || !strings.Contains(stderr, "known here") {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
	for _, args := range [][]string{
		{"test", "bert", "--on", "lab=rome"},
		{"test", "bert", "--fleet", "no-such-file"},
		{"matrix", "bert", "--resume", "--fleet", at},
		{"fleet", "tasks", "--state", "asleep"},
		{"coordinator", "--open", "--keys"},
		{"coordinator", "--addr", "nowhere"},
	} {
		if _, stderr, status := p.run(t, args...); status != exitUsage {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
}

// TestFleetKeys: a ticket is all that a worker and a user need, and a key that is
// revoked opens nothing.
func TestFleetKeys(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	at := p.coordinator(t, "--keys")
	dir := filepath.Join(p.dir, "fleet")
	ticket := func(name string, args ...string) string {
		path := filepath.Join(p.dir, name+".ticket")
		text := p.ok(t, append([]string{"fleet", "key", "add", name, "--dir", dir, "--at", at}, args...)...)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lab, anna := ticket("lab-1"), ticket("anna", "--role", "user")
	held, err := keys.Read(lab)
	if err != nil {
		t.Fatal(err)
	}
	joinFleet(t, held, "lab-1")
	// The server reads new keys within a second or two.
	var text string
	for end := time.Now().Add(time.Minute); !strings.Contains(text, "1 here"); time.Sleep(200 * time.Millisecond) {
		text, _, _ = p.run(t, "fleet", "status", "--fleet", anna)
		if time.Now().After(end) {
			t.Fatalf("the worker did not join: %s", text)
		}
	}
	if _, stderr, status := p.run(t, "fleet", "status", "--fleet", at); status == 0 || !strings.Contains(stderr, "use the ticket") || strings.Contains(stderr, "is the coordinator running") {
		t.Errorf("somebody without a key: status %d, %s", status, stderr)
	}
	if r := p.report(t, 0, "test", "--plan", p.noops(t, "nothing", 3), "--fleet", anna); len(r.Results) != 3 {
		t.Errorf("%d results", len(r.Results))
	}
	p.ok(t, "fleet", "key", "revoke", "anna", "--dir", dir)
	if text := p.ok(t, "fleet", "key", "list", "--dir", dir); !strings.Contains(text, "revoked") {
		t.Error(text)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if _, _, status := p.run(t, "fleet", "status", "--fleet", anna); status != 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a revoked key still opens")
		}
	}
}

// The command that lets others in names what they need.
func TestLetIn(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"assay fleet key add NAME --at tls://THIS-HOST:4222 > NAME.ticket":                   letIn("tls://0.0.0.0:4222", ""),
		`assay fleet key add NAME --at tls://THIS-HOST:40123 --dir "my fleet" > NAME.ticket`: letIn("tls://127.0.0.1:40123", "my fleet"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// byFile runs the lines of docs/fleet.md that bring a worker's journal of an H200 into one matrix with results of this
// machine; without torch, those that need none.
func byFile(t *testing.T, p *program, torch bool) (matrix string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	const file = "20261117T061613Z-amvnof.jsonl.br"
	body, err := os.ReadFile("../../tables/" + file)
	if err != nil || !strings.Contains(string(page), file) {
		t.Fatalf("%s: %v", file, err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "h200.jsonl.br"), body, 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range fence.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(block[2], "assay import h200.jsonl.br") {
			continue
		}
		for line := range strings.Lines(block[2]) {
			e := example{"fleet.md", strings.TrimSpace(line)}
			if e.needsTorch() && !torch {
				continue
			}
			stdout, stderr, status := finish(t, shell(t, p, e.line))
			if status != exitOK {
				t.Errorf("%s: status %d\n%s%s", e.line, status, stdout, stderr)
			}
			matrix = stdout
			ran++
		}
	}
	if want := map[bool]int{false: 2, true: 3}[torch]; ran != want {
		t.Errorf("%d lines were run, want %d", ran, want)
	}
	return matrix
}

// TestByFile: results of an H200 that came by file are in the matrix, and are marked as imported.
func TestByFile(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	matrix := byFile(t, p, false)
	for _, want := range []string{"✓ tiny imp", "imported:64029ab473d62153", "NVIDIA H200"} {
		if !strings.Contains(matrix, want) {
			t.Errorf("the matrix lacks %q:\n%s", want, matrix)
		}
	}
}

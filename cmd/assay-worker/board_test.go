//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/byssh"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/station"
	"assay/internal/fleet/wire"
	"assay/internal/platform"
)

// sshd starts a server that lets the test in by a key made for it, with an environment for what it starts, and
// returns the configuration for ssh. Where there is none the test is skipped.
func sshd(t *testing.T, environ []string) (config string) {
	t.Helper()
	program := os.Getenv("ASSAY_TEST_SSHD")
	for _, at := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"} {
		if _, err := os.Stat(at); program == "" && err == nil {
			program = at
		}
	}
	if program == "" {
		t.Skip("no sshd is installed here (openssh-server), nor does ASSAY_TEST_SSHD name one")
	}
	for _, name := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name + " is installed here")
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"host", "mine"} {
		if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", in(name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v, %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	write := func(name, text string) {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sshd_config", fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv %s
`, port, in("host"), in("mine.pub"), strings.Join(environ, " ")))
	write("config", fmt.Sprintf(`Host board
  HostName 127.0.0.1
  Port %d
  User %s
  IdentityFile %s
  IdentitiesOnly yes
  StrictHostKeyChecking accept-new
  UserKnownHostsFile %s
  GlobalKnownHostsFile none
`, port, me.Username, in("mine"), in("known")))
	c := exec.Command(program, "-D", "-e", "-f", in("sshd_config"))
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill() })
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
			return in("config")
		}
		select {
		case err := <-ended:
			t.Skipf("sshd does not run here: %v, %s", err, errs.String())
		default:
		}
		if time.Now().After(end) {
			t.Fatal("sshd does not listen")
		}
	}
}

// A worker starts on a machine that is reached by ssh, works through the tunnel with a key of its own, and ends with
// the command; its ticket never lies on that machine's disk.
func TestBoard(t *testing.T) {
	t.Parallel()
	w := newWorker(t)
	var environ []string
	for _, v := range w.environ {
		if !strings.HasPrefix(v, "HOME=") {
			environ = append(environ, v)
		}
	}
	config := sshd(t, environ)
	dir := t.TempDir()
	s, err := station.Open(t.Context(), station.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(running) })
	t.Cleanup(func() { stop(); wg.Wait(); _ = s.Close() })
	ticket := func(name string, role keys.Role) keys.Ticket {
		tk, err := station.Ticket(dir, s.URL(), name, role, filepath.Join(dir, "tls.pem"))
		if err != nil {
			t.Fatal(err)
		}
		return tk
	}
	anna, pi := ticket("anna", keys.User), ticket("pi", keys.Worker)
	self, err := exec.LookPath("assay-worker")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said bytes.Buffer
	say := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&said, text)
	}
	b := byssh.Board{
		Host: "board", Config: config, Worker: self, Folder: filepath.Join(w.dir, "kept"), Port: free(t), Ticket: pi,
		Flags: []string{"--noop", "--workers", "1", "--label", "room=it's here"}, Out: os.Stderr, Say: say,
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	var nc *wire.Client
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // the server reads new keys once a second
		conn, err := anna.Connect(wire.Options{Name: "anna"})
		if err == nil {
			t.Cleanup(conn.Close)
			nc = wire.NewClient(conn, "anna", 5*time.Second)
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	task := fleet.NewTask(cell.Cell{Type: "noop", Engine: platform.Noop}, cell.Plan{Timing: cell.Functional}, fleet.Needs{Labels: map[string]string{"room": "it's here"}})
	if _, err := nc.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s1", Tasks: 1}, Tasks: []fleet.Task{task}}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); ; {
		p, err := nc.Answers(t.Context(), fleet.Question{Sweep: "s1", Wait: time.Second})
		if err == nil && p.Left == 0 {
			if p.Answers[0].Worker != "pi" {
				t.Errorf("%+v", p.Answers)
			}
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("no answer came: %v", err)
		}
	}
	_ = filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != "assay-worker" {
			if body, err := os.ReadFile(path); err == nil && bytes.Contains(body, []byte(pi.Seed)) {
				t.Errorf("%s holds the ticket's secret", path)
			}
		}
		return nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		st, err := nc.Status(t.Context())
		if err == nil && !st.Workers[0].Alive {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the worker goes on after its command has ended: %v, %+v", err, st.Workers)
		}
	}
	mu.Lock()
	if !strings.Contains(said.String(), "copying assay-worker to board") {
		t.Errorf("it said %q", said.String())
	}
	mu.Unlock()
	// What cannot be is told.
	for want, change := range map[string]func(*byssh.Board){
		"cannot be used by ssh":    func(b *byssh.Board) { b.Host = "nowhere.invalid" },
		"is not assay-worker":      func(b *byssh.Board) { b.Worker = config },
		"no host and port":         func(b *byssh.Board) { b.Ticket.URL = "nats" },
		"is not a machine":         func(b *byssh.Board) { b.Host = "-oProxyCommand=x" },
		"The port of the tunnel":   nil,
		"has ended (exit status 2": func(b *byssh.Board) { b.Flags = []string{"--dance"} },
	} {
		x := b
		if change == nil {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			_, x.Port, _ = net.SplitHostPort(l.Addr().String())
			want = "If the port of the tunnel"
		} else {
			change(&x)
		}
		if err := x.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, context.Canceled) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// free is a port that nobody uses.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

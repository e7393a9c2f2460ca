// Package byssh starts a worker on a machine that is reached only by ssh: a board, or a
// server behind a gateway. It needs nothing there but a shell and what a worker needs anyway. The user's own
// ssh is called, with its keys, hosts and jumps.
//
// The worker's program is copied once. Its ticket goes by standard input and never lies on that machine's disk; what
// it says to the coordinator goes through a tunnel of the same connection. When the connection
// ends, so does the worker.
package byssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"assay/internal/fleet/keys"
)

// Board is a machine that is to work.
type Board struct {
	Host   string // as ssh takes it: user@host, or a name of its configuration
	Config string // of ssh; "" is the user's own
	Worker string // the file of assay-worker for that machine
	Folder string // there, that keeps it; "" is .cache/assay in its user's home
	Port   string // there, on loopback, of the tunnel; "" is the coordinator's
	Ticket keys.Ticket
	Flags  []string // of assay-worker join
	Out    io.Writer
	Say    func(string)
}

// Run copies the worker there, if it is not there yet, and runs it until ctx is done.
func (b Board) Run(ctx context.Context) error {
	if strings.HasPrefix(b.Host, "-") || b.Host == "" {
		return fmt.Errorf("%q is not a machine: give it as ssh takes it, for example pi@board", b.Host)
	}
	forward, ticket, err := b.tunnel()
	if err != nil {
		return err
	}
	if err := b.suits(ctx); err != nil {
		return err
	}
	program, err := b.copied(ctx)
	if err != nil {
		return err
	}
	line, err := json.Marshal(ticket)
	if err != nil {
		return err
	}
	b.Say(fmt.Sprintf("a worker starts on %s", b.Host))
	args := b.args("-o", "ExitOnForwardFailure=yes", "-R", forward)
	command := "exec " + quote(program) + " join -"
	for _, f := range b.Flags {
		command += " " + quote(f)
	}
	// ssh is not ended with ctx: its input is, and the worker gives its tasks back first.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "ssh", append(args, b.Host, command)...)
	cmd.Stdout, cmd.Stderr = b.Out, b.Out
	own(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, _ = in.Write(append(line, '\n')) // where it fails, why ssh ended says more
		ended <- cmd.Wait()
	}()
	select {
	case err := <-ended:
		return b.explain(err)
	case <-ctx.Done():
	}
	_ = in.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
	}
	return nil
}

// patience is how long a worker may take to give back what it has.
const patience = 20 * time.Second

// explain says what ssh's end means.
func (b Board) explain(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return fmt.Errorf("the worker on %s has ended by itself", b.Host)
	case errors.As(err, &exit) && exit.ExitCode() == 255:
		return fmt.Errorf("the connection to %s could not be made, or has ended: try ssh %s, and read what ssh says above. If the port of the tunnel is in use there, choose another with --port", b.Host, b.Host)
	}
	return fmt.Errorf("the worker on %s has ended (%w): it says above why", b.Host, err)
}

// tunnel is what ssh forwards, and the ticket as it is used at the other end.
func (b Board) tunnel() (forward string, t keys.Ticket, err error) {
	u, err := url.Parse(b.Ticket.URL)
	if err != nil || u.Hostname() == "" || u.Port() == "" {
		return "", t, fmt.Errorf("the coordinator's address %q has no host and port: it looks like tls://host:4222", b.Ticket.URL)
	}
	port := b.Port
	if port == "" {
		port = u.Port()
	}
	t = b.Ticket
	there := *u
	there.Host = net.JoinHostPort("127.0.0.1", port)
	t.URL = there.String()
	return fmt.Sprintf("127.0.0.1:%s:%s", port, u.Host), t, nil
}

func (b Board) args(more ...string) []string {
	out := []string{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"}
	if b.Config != "" {
		out = append(out, "-F", b.Config)
	}
	return append(out, more...)
}

// there runs a command on the machine.
func (b Board) there(ctx context.Context, in io.Reader, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "ssh", append(b.args(), b.Host, command)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		why := strings.TrimSpace(errs.String())
		if why == "" {
			why = err.Error()
		}
		return "", fmt.Errorf("%s cannot be used by ssh: %s (try ssh %s; a key must let you in without a password)", b.Host, why, b.Host)
	}
	return strings.TrimSpace(out.String()), nil
}

// architectures are Go's names of what uname says.
var architectures = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

// suits refuses a worker that was built for another kind of machine.
func (b Board) suits(ctx context.Context) error {
	said, err := b.there(ctx, nil, "uname -s -m")
	if err != nil {
		return err
	}
	system, machine, _ := strings.Cut(said, " ")
	is := strings.ToLower(system) + "/" + architectures[machine]
	if strings.HasSuffix(is, "/") {
		return fmt.Errorf("there is no worker for %s, which says that it is %q: Linux and macOS on amd64 and arm64 can be reached this way", b.Host, said)
	}
	info, err := buildinfo.ReadFile(b.Worker)
	if err != nil {
		return fmt.Errorf("%s is not assay-worker: %w (give its file with --worker)", b.Worker, err)
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	if has := built["GOOS"] + "/" + built["GOARCH"]; has != is {
		return fmt.Errorf("%s is for %s and %s is %s: give the assay-worker of that platform with --worker", b.Worker, has, b.Host, is)
	}
	return nil
}

// copied is where the worker lies there; it is copied once for each version of it.
func (b Board) copied(ctx context.Context) (string, error) {
	body, err := os.ReadFile(b.Worker)
	if err != nil {
		return "", err
	}
	folder := b.Folder
	if folder == "" {
		folder = ".cache/assay"
	}
	sum := sha256.Sum256(body)
	at := folder + "/worker-" + hex.EncodeToString(sum[:8])
	program, fresh := at+"/assay-worker", at+"/assay-worker.part"
	has, err := b.there(ctx, nil, "if test -x "+quote(program)+"; then echo yes; else echo no; fi")
	if err != nil || has == "yes" {
		return dotted(program), err
	}
	b.Say(fmt.Sprintf("copying assay-worker to %s (%d MB, once)", b.Host, len(body)>>20))
	_, err = b.there(ctx, bytes.NewReader(body), fmt.Sprintf("mkdir -p %s && cat > %s && chmod 755 %s && mv %s %s", quote(at), quote(fresh), quote(fresh), quote(fresh), quote(program)))
	return dotted(program), err
}

// dotted names a file of the home as a program: exec takes a name with a slash as it is.
func dotted(program string) string {
	if strings.HasPrefix(program, "/") {
		return program
	}
	return "./" + program
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

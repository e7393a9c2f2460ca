package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options are set once.
type Options struct {
	Settings
	// Say hears sentences for the user: progress, waiting, second tries.
	Say func(string)
	// Every is how long progress keeps silent; 0 is ten seconds.
	Every time.Duration
	// Free tells the bytes that are free on a folder's disk; nil asks nobody.
	Free func(dir string) (uint64, error)
	// Patience is how a server that is slow or fails is dealt with.
	Patience Patience
	// Agent names this program to the server.
	Agent string
}

// Patience bounds waiting. The zero value is for real servers.
type Patience struct {
	Tries int           // in a row without a byte in between; 0 is six
	Pause time.Duration // before the second try, doubled each time; 0 is one second
	Stall time.Duration // how long an answer may bring nothing; 0 is a minute
}

// longestPause bounds the wait between two tries, also where the server asks
// for more.
const longestPause = 5 * time.Minute

// Hub loads models. It is safe for concurrent use.
type Hub struct {
	o      Options
	client *http.Client
	cache  cache
}

// New returns a Hub; nothing is opened yet.
func New(o Options) *Hub {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	set(&o.Every, 10*time.Second)
	set(&o.Patience.Tries, 6)
	set(&o.Patience.Pause, time.Second)
	set(&o.Patience.Stall, time.Minute)
	t := http.DefaultTransport.(*http.Transport).Clone() // with the user's proxies
	t.ResponseHeaderTimeout = o.Patience.Stall
	t.DisableCompression = true // sizes and ranges are of the bytes themselves
	return &Hub{o: o, client: &http.Client{Transport: t, CheckRedirect: redirect}, cache: cache{o.Cache}}
}

func set[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

var errRedirect = errors.New("the server sends")

// redirect follows a server that sends elsewhere, without the token once it is
// another host, and never from a safe connection to an open one.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return fmt.Errorf("%w in circles", errRedirect)
	}
	for _, before := range via {
		if before.URL.Scheme == "https" && req.URL.Scheme != "https" {
			return fmt.Errorf("%w from https to %s", errRedirect, req.URL.Scheme)
		}
		if before.URL.Host != req.URL.Host {
			req.Header.Del("Authorization")
		}
	}
	return nil
}

func (h *Hub) url(path string) string { return h.o.Endpoint.String() + "/" + path }

func (h *Hub) fileURL(ref Ref, commit, name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return h.url(ref.Model + "/resolve/" + commit + "/" + strings.Join(parts, "/"))
}

// get asks for something. An answer of any status is an answer; what is worth
// another try is an *again.
func (h *Hub) get(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	return h.ask(ctx, h.client, http.MethodGet, address, header)
}

// head asks about a file. A redirect to another host is not followed: the
// answer that sends there describes the file.
func (h *Hub) head(ctx context.Context, address string) (*http.Response, error) {
	here := *h.client
	here.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != via[0].URL.Host {
			return http.ErrUseLastResponse
		}
		return redirect(req, via)
	}
	return h.ask(ctx, &here, http.MethodHead, address, nil)
}

func (h *Hub) ask(ctx context.Context, client *http.Client, method, address string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, &Error{Kind: BadServer, Problem: "cannot make a request for " + quoted(address)}
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("User-Agent", h.o.Agent)
	if h.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+string(h.o.Token))
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, &again{err: err, tries: worth(err, h.o.Patience.Tries)}
	}
	if wait, busy := isBusy(resp); busy {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
		resp.Body.Close()
		return nil, &again{err: fmt.Errorf("the server answered %s", resp.Status), after: wait}
	}
	return resp, nil
}

// isBusy tells the statuses that another try may change, and how long the
// server wants to be left alone.
func isBusy(resp *http.Response) (wait time.Duration, busy bool) {
	busy = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode >= 500
	after := resp.Header.Get("Retry-After")
	if s, err := strconv.Atoi(after); err == nil && s > 0 {
		wait = time.Duration(min(s, 1<<20)) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		wait = time.Until(at)
	}
	return wait, busy
}

// worth is how many tries a connection's failure deserves: a name that is not
// known or a wrong certificate does not fix itself, and where nobody listens
// one more try is enough.
func worth(err error, most int) int {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.Is(err, errRedirect), errors.As(err, &certificate), errors.As(err, &dns) && dns.IsNotFound:
		return 1
	case errors.As(err, &op) && op.Op == "dial":
		return min(2, most)
	}
	return most
}

// again is an error that another try may fix.
type again struct {
	err   error
	after time.Duration // the least wait
	tries int           // how many it is worth; 0 is as many as any
}

func (a *again) Error() string { return a.err.Error() }
func (a *again) Unwrap() error { return a.err }

// patiently tries until it works, the error is final, or patience ends. A try
// that brought something, if only a byte, starts the count again.
func (h *Hub) patiently(ctx context.Context, ref Ref, try func(context.Context) (moved bool, err error)) error {
	pause := h.o.Patience.Pause
	for n := 1; ; n++ {
		moved, err := try(ctx)
		var more *again
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &more):
			return err
		}
		if moved {
			n, pause = 1, h.o.Patience.Pause
		}
		wait := max(more.after, pause+rand.N(pause/2+1)) //nolint:gosec // it only keeps programs from asking in step
		if n >= cmp.Or(more.tries, h.o.Patience.Tries) || wait > longestPause {
			return h.gaveUp(ref, more, wait)
		}
		if n > 1 || more.after > 0 {
			h.o.Say(fmt.Sprintf("%s: %s; trying again in %s", ref, h.plain(more.err), wait.Round(100*time.Millisecond)))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		pause *= 2
	}
}

func (h *Hub) gaveUp(ref Ref, last *again, wait time.Duration) error {
	e := &Error{Kind: Unreachable, Err: last.err,
		Problem: fmt.Sprintf("cannot load %s from %s: %s", ref, h.o.Endpoint.Host, h.plain(last.err)),
		Hint:    "check the network, its proxy and HF_ENDPOINT, then run again: what was loaded is kept"}
	if wait > longestPause {
		e.Hint = fmt.Sprintf("it asks to wait for %s: run again then", wait.Round(time.Second))
	}
	return e
}

// plain says what went wrong without addresses: those that servers send
// elsewhere with are signed, and so are secrets.
func (h *Hub) plain(err error) string {
	var at *url.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, errStalled):
		return errStalled.Error()
	case errors.As(err, &dns):
		return "the name " + quoted(dns.Name) + " is not known here"
	case errors.As(err, &at):
		err = at.Err
	}
	text := err.Error()
	if h.o.Token != "" {
		text = strings.ReplaceAll(text, string(h.o.Token), h.o.Token.String())
	}
	return text
}

// strange is an answer that no Hub gives.
func (h *Hub) strange(err error) error {
	return &Error{Kind: BadServer, Problem: fmt.Sprintf("%s gives %v", h.o.Endpoint.Host, err), Hint: "check HF_ENDPOINT: this is not how a Hub answers", Err: err}
}

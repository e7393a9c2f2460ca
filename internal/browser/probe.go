package browser

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"assay/internal/detect"
)

//go:embed probe.html
var probePage []byte

// ProbePage is the page that asks. It posts its answer, the JSON form of a
// detect.BrowserAnswer without what only the outside knows, to "answer" beside
// itself, and wants headers that isolate it.
func ProbePage() []byte { return bytes.Clone(probePage) }

// probeLimit is how long a browser may take to answer, beyond its start: five
// things are asked, each with a limit of ten seconds in the page itself.
const probeLimit = 55 * time.Second

// Probe starts a browser, asks it in its own page what it can do, and
// closes it. It does so for each of the ways to its adapter, until there is a
// real one; a software one is forced only when there is none at all. The
// answer says which way it was.
func Probe(ctx context.Context, o Options) (detect.BrowserAnswer, error) {
	return tryWays(waysOf(o.Kind), func(w way) (detect.BrowserAnswer, error) {
		try := o
		try.Software, try.Args = o.Software || w.software, append(slices.Clone(o.Args), w.args...)
		return probe(ctx, try)
	})
}

func probe(ctx context.Context, o Options) (answer detect.BrowserAnswer, err error) {
	b, err := Start(ctx, o)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	answer, err = b.ask(ctx)
	answer.Kind, answer.Path, answer.Version = o.Kind, o.Path, b.Version()
	return answer, err
}

// ask opens the page and waits for what it posts.
func (b *Browser) ask(ctx context.Context) (detect.BrowserAnswer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeLimit, fmt.Errorf("the browser did not answer within %v", probeLimit))
	defer cancel()
	said := make(chan detect.BrowserAnswer, 1)
	url, stop, err := serveProbe(ctx, said)
	if err != nil {
		return detect.BrowserAnswer{}, err
	}
	defer stop()
	page, err := b.Open(ctx, url)
	if err != nil {
		return detect.BrowserAnswer{}, err
	}
	select {
	case answer := <-said:
		return answer, page.Close()
	case why := <-page.Gone():
		return detect.BrowserAnswer{}, why
	case <-ctx.Done():
		return detect.BrowserAnswer{}, context.Cause(ctx)
	}
}

// serveProbe serves the page to this machine alone, under a name that nobody
// can guess. Its headers isolate it, so that it may share memory.
func serveProbe(ctx context.Context, said chan<- detect.BrowserAnswer) (url string, stop func(), err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	secret := "/" + rand.Text() + "/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+secret, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		_, _ = w.Write(probePage) // a page that did not arrive does not answer
	})
	mux.HandleFunc("POST "+secret+"answer", func(w http.ResponseWriter, r *http.Request) {
		var answer detect.BrowserAnswer
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&answer); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case said <- answer:
		default: // it answered already
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + secret, func() { _ = server.Close() }, nil
}

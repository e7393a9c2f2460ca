package skillpages

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"assay/internal/pages"
)

//go:embed trial.html
var trialPage []byte

// given is what a trial's page is told: its module, and what the module's run
// takes.
type given struct {
	Module   string            `json:"module"`
	Platform string            `json:"platform"`
	Artefact string            `json:"artefact"`
	Packages map[string]string `json:"packages"`
}

// site serves trials.
type site struct {
	address string
	server  *http.Server

	mu     sync.Mutex
	trials map[string]expected // by secret
}

// expected is a running trial.
type expected struct {
	given   given
	outcome chan []row // holds one
}

const (
	headerTimeout = 10 * time.Second // how long a client may take to say what it wants
	mostTold      = 1 << 20          // bytes that a page may tell
)

// serve starts a site on a free port of 127.0.0.1.
func (r Run) serve() (*site, error) {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve skills on 127.0.0.1: %w", err)
	}
	s := &site{address: "http://" + l.Addr().String(), trials: map[string]expected{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /trials/{secret}/{$}", s.ofTrial(func(w http.ResponseWriter, _ *http.Request, _ expected) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(trialPage)
	}))
	mux.HandleFunc("GET /trials/{secret}/given", s.ofTrial(func(w http.ResponseWriter, _ *http.Request, t expected) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(t.given)
	}))
	mux.HandleFunc("POST /trials/{secret}/outcome", s.ofTrial(hear))
	for name, dir := range map[string]string{"skills": r.Skills, "artefacts": r.Artefacts, "runtime": r.Runtime} {
		mux.Handle("GET /"+name+"/", http.StripPrefix("/"+name, typed(http.FileServer(http.Dir(dir)))))
	}
	s.server = &http.Server{Handler: pages.Isolated(mux), ReadHeaderTimeout: headerTimeout}
	go func() { _ = s.server.Serve(l) }() // ends with close
	return s, nil
}

func (s *site) close() { _ = s.server.Close() }

// expect lets a page come, and gives what it will say.
func (s *site) expect(secret string, g given) <-chan []row {
	outcome := make(chan []row, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trials[secret] = expected{g, outcome}
	return outcome
}

func (s *site) forget(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trials, secret)
}

func (s *site) ofTrial(do func(http.ResponseWriter, *http.Request, expected)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		t, ok := s.trials[r.PathValue("secret")]
		s.mu.Unlock()
		if !ok {
			http.Error(w, "the address lacks the secret of a running trial", http.StatusForbidden)
			return
		}
		do(w, r, t)
	}
}

// hear takes what a page says; only its first word counts.
func hear(w http.ResponseWriter, r *http.Request, t expected) {
	var rows []row
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostTold)).Decode(&rows); err != nil {
		http.Error(w, fmt.Sprintf("the outcome of the tests cannot be read: %v", err), http.StatusBadRequest)
		return
	}
	select {
	case t.outcome <- rows:
	default:
	}
	w.WriteHeader(http.StatusNoContent)
}

func typed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages.SetType(w.Header(), r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

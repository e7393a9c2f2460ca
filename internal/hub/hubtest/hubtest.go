// Package hubtest is a small server that behaves like the Hugging Face Hub, for
// tests: lists of files, small files from the server itself, large ones by a
// redirect to a second host, ranges, tags, gated and private models. Faults
// make it misbehave as real servers do.
package hubtest

import (
	"crypto/sha1" //nolint:gosec // as git does
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Token is the one that opens gated and private models.
const Token = "hf_OnlyForTestsOfThisProgram"

// Model is a model on the server.
type Model struct {
	Files map[string][]byte
	Gated bool // files only with the token
	// Private models are not there at all without the token.
	Private bool
	// Branches maps further revisions to their files.
	Branches map[string]map[string][]byte
}

// Request is one that the server has answered.
type Request struct {
	Host          string // hub or store
	Method, Path  string
	Range         string
	Authorization string
}

// Server is the Hub and the store beside it. Its fields may be changed before
// the first request.
type Server struct {
	URL, Store string
	Models     map[string]*Model
	// Bare leaves sizes and tags out of lists, as some mirrors do.
	Bare bool
	// Rename gives files other names in lists.
	Rename map[string]string

	mu       sync.Mutex
	faults   map[string][]Fault
	requests []Request
}

// New starts a server that ends with the test.
func New(t testing.TB, models map[string]*Model) *Server {
	t.Helper()
	s := &Server{Models: models, faults: map[string][]Fault{}}
	hub := httptest.NewServer(http.HandlerFunc(s.hub))
	store := httptest.NewServer(http.HandlerFunc(s.store))
	t.Cleanup(func() {
		for _, x := range []*httptest.Server{hub, store} {
			x.CloseClientConnections()
			x.Close()
		}
	})
	s.URL, s.Store = hub.URL, strings.Replace(store.URL, "127.0.0.1", "localhost", 1)
	return s
}

// Requests are those answered so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Commit is what main is of a model.
func (s *Server) Commit(model string) string { return commit(s.Models[model].Files) }

func commit(files map[string][]byte) string {
	h := sha1.New() //nolint:gosec // as git does
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %s\n", name, blobID(files[name]))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func blobID(b []byte) string {
	h := sha1.New() //nolint:gosec // as git does
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// large tells the files that lie in the store.
func large(name string) bool {
	return slices.Contains([]string{".safetensors", ".bin", ".h5", ".msgpack"}, path.Ext(name))
}

// at finds a model's files at a revision.
func (m *Model) at(revision string) (map[string][]byte, bool) {
	if revision == "main" || revision == commit(m.Files) {
		return m.Files, true
	}
	for name, files := range m.Branches {
		if revision == name || revision == commit(files) {
			return files, true
		}
	}
	return nil, false
}

func (s *Server) note(host string, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{host, r.Method, r.URL.Path, r.Header.Get("Range"), r.Header.Get("Authorization")})
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Error-Code", code)
	http.Error(w, `{"error":"`+code+`"}`, status)
}

// hub answers /api/models/ID/revision/REV, /api/models/ID/tree/REV (which
// Hugging Face's library asks for) and /ID/resolve/REV/FILE.
func (s *Server) hub(w http.ResponseWriter, r *http.Request) {
	s.note("hub", r)
	rest, api := strings.CutPrefix(r.URL.Path, "/api/models/")
	tree := api && strings.Contains(rest, "/tree/")
	between := "/resolve/"
	switch {
	case tree:
		between = "/tree/"
	case api:
		between = "/revision/"
	}
	id, rest, ok := strings.Cut(strings.TrimPrefix(rest, "/"), between)
	m := s.Models[id]
	allowed := r.Header.Get("Authorization") == "Bearer "+Token
	switch {
	case !ok || m == nil || m.Private && !allowed:
		refuse(w, http.StatusUnauthorized, "RepoNotFound")
	case tree:
		s.tree(w, m, rest)
	case api:
		s.list(w, r, m, rest)
	case m.Gated && !allowed:
		refuse(w, http.StatusForbidden, "GatedRepo")
	default:
		revision, name, _ := strings.Cut(rest, "/")
		s.resolve(w, r, m, revision, name)
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, m *Model, revision string) {
	files, ok := m.at(revision)
	if !ok {
		refuse(w, http.StatusNotFound, "RevisionNotFound")
		return
	}
	if f, broken := s.fault("list"); broken {
		f.answer(w, r, []byte("{"))
		return
	}
	siblings := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		row := map[string]any{"rfilename": name}
		if other := s.Rename[name]; other != "" {
			row["rfilename"] = other
		}
		if r.URL.Query().Get("blobs") == "true" && !s.Bare {
			row["size"], row["blobId"] = len(files[name]), blobID(files[name])
			if large(name) {
				row["lfs"] = map[string]any{"sha256": sha(files[name]), "size": len(files[name]), "pointerSize": 134}
			}
		}
		siblings = append(siblings, row)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "x", "modelId": "x", "sha": commit(files), "siblings": siblings, "private": m.Private, "gated": m.Gated, "tags": []string{}})
}

func (s *Server) tree(w http.ResponseWriter, m *Model, revision string) {
	files, ok := m.at(revision)
	if !ok {
		refuse(w, http.StatusNotFound, "RevisionNotFound")
		return
	}
	rows := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		row := map[string]any{"type": "file", "path": name, "size": len(files[name]), "oid": blobID(files[name])}
		if large(name) {
			row["lfs"] = map[string]any{"oid": sha(files[name]), "size": len(files[name]), "pointerSize": 134}
		}
		rows = append(rows, row)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(rows)
}

func (s *Server) resolve(w http.ResponseWriter, r *http.Request, m *Model, revision, name string) {
	files, ok := m.at(revision)
	if !ok {
		refuse(w, http.StatusNotFound, "RevisionNotFound")
		return
	}
	b, ok := files[name]
	if !ok {
		refuse(w, http.StatusNotFound, "EntryNotFound")
		return
	}
	w.Header().Set("X-Repo-Commit", commit(files))
	if large(name) {
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(b)))
		w.Header().Set("X-Linked-Etag", `"`+sha(b)+`"`)
		w.Header().Set("ETag", `"elsewhere"`)
		http.Redirect(w, r, s.Store+"/"+sha(b)+"?signature=secret-of-the-store&name="+name, http.StatusFound)
		return
	}
	w.Header().Set("ETag", `"`+blobID(b)+`"`)
	s.send(w, r, name, b)
}

// store answers with large files by their hash.
func (s *Server) store(w http.ResponseWriter, r *http.Request) {
	s.note("store", r)
	for _, m := range s.Models {
		for _, files := range append(slices.Collect(maps.Values(m.Branches)), m.Files) {
			for name, b := range files {
				if large(name) && "/"+sha(b) == r.URL.Path {
					w.Header().Set("ETag", `"of-the-store"`)
					s.send(w, r, name, b)
					return
				}
			}
		}
	}
	http.NotFound(w, r)
}

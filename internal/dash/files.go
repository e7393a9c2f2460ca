package dash

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"

	"assay/internal/clean"
)

// hashed are names of files that never change: app.1a2b3c4d.js.
var hashed = regexp.MustCompile(`\.[0-9a-zA-Z_-]{8,}\.[a-z0-9]+$`)

// named are addresses of pages that end with a name, which may hold dots.
var named = regexp.MustCompile(`^(model|platform|host|run|result)/.`)

// kinds are the types of the pages' files; the system's table may lack some.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".csv": "text/csv; charset=utf-8", ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2",
	".txt": "text/plain; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".webmanifest": "application/manifest+json",
}

// page serves the files of the pages. An address that is none of them is the
// application's own, which its index shows.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	if isAPI(name) {
		s.notHere(w, r)
		return
	}
	text, err := fs.ReadFile(s.o.Site, name)
	if err != nil && (path.Ext(name) == "" || named.MatchString(name)) {
		name = "index.html"
		text, err = fs.ReadFile(s.o.Site, name)
	}
	if err != nil {
		problem(w, http.StatusNotFound, "there is no such page")
		return
	}
	if hashed.MatchString(name) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	s.files.of(name, text).send(w, r, kindOf(name))
}

func isAPI(name string) bool { return strings.HasPrefix(name, "v1/") || name == "v1" }

// notHere answers what no operation does, and says which methods would do.
func (s *Server) notHere(w http.ResponseWriter, r *http.Request) {
	api := isAPI(strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/"))
	var would []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		probe := r.Clone(r.Context())
		probe.Method = method
		if _, pattern := s.mux.Handler(probe); pattern != "/" && pattern != "" && (!api || pattern != "GET /") {
			would = append(would, method)
		}
	}
	switch {
	case len(would) > 0:
		w.Header().Set("Allow", strings.Join(would, ", "))
		problem(w, http.StatusMethodNotAllowed, "this address takes "+strings.Join(would, " and "))
	case api:
		problem(w, http.StatusNotFound, noAddress(r.URL.Path))
	default:
		problem(w, http.StatusNotFound, "there is no such page")
	}
}

// noAddress says that there is none, and what may be meant.
func noAddress(path string) string {
	text := "the API has no such address: /openapi.json describes it"
	if strings.HasPrefix(path, "/v1/models/") {
		return text + `; a slash in a model's name is written %2F`
	}
	return text
}

func kindOf(name string) string {
	if kind := kinds[path.Ext(name)]; kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// data serves what the pages read, as the static site has it in files.
func (s *Server) data(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.PathValue("path")), "/")
	if s.o.Data == nil {
		problem(w, http.StatusNotFound, "there is no such file")
		return
	}
	snap, err := s.snapshots.get(r.Context())
	if err != nil {
		problem(w, http.StatusInternalServerError, clean.Text(err.Error()))
		return
	}
	b, err := snap.answer("data "+name+" "+s.today(), func() (*body, error) {
		text, err := s.o.Data(name, snap.observations(), s.o.Now().UTC())
		if err != nil {
			return nil, err
		}
		return newBody(text), nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem(w, http.StatusNotFound, "there is no such file")
	case err != nil:
		problem(w, http.StatusInternalServerError, clean.Text(err.Error()))
	default:
		b.send(w, r, kindOf(name))
	}
}

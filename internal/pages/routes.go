package pages

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/coder/websocket"
)

// mostFrame bounds what a child or a page may send at once.
const mostFrame = 2 << 30

// routes are the addresses of a host. Those of children and of pages have
// secrets of their own; what needs no secret is public anyway.
func (h *Host) routes() http.Handler {
	mux := h.ofPages()
	mux.HandleFunc("POST /visits/{visit}/page", h.ofVisit(h.askPage))
	mux.HandleFunc("POST /visits/{visit}/call", h.ofVisit(h.relay))
	mux.HandleFunc("GET /visits/{visit}/memory", h.ofVisit(h.memory))
	return Isolated(mux)
}

// Handler serves what pages ask for and nothing of what children do, for a
// server that other machines reach: /pages/, /page/ and /packages/.
func (h *Host) Handler() http.Handler { return Isolated(h.ofPages()) }

func (h *Host) ofPages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{page}/{$}", h.ofPage(h.index))
	mux.HandleFunc("GET /pages/{page}/socket", h.ofPage(h.socket))
	mux.HandleFunc("GET /pages/{page}/files/{number}/{name}", h.ofPage(h.file))
	mux.Handle("GET /page/", http.StripPrefix("/page/", http.FileServerFS(h.files.Page)))
	mux.HandleFunc("GET /packages/{rest...}", h.packages)
	return mux
}

// Isolated sets the headers with which a page may share memory between
// threads and read the clock finely, and keeps every other site out.
func Isolated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Embedder-Policy", "require-corp")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("X-Content-Type-Options", "nosniff")
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			refuse(w, http.StatusForbidden, "refused", errors.New("this address is for Assay's own page: another site asked for it"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers with a reason: kind for programs, the error for people.
func refuse(w http.ResponseWriter, status int, kind string, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{Kind: kind, Error: err.Error()})
}

// What children are answered.
type (
	pageAnswer struct {
		About About           `json:"about"`
		Hello json.RawMessage `json:"hello"`           // of the page
		Tuned any             `json:"tuned,omitempty"` // what was measured of its browser before
	}
	memoryAnswer struct {
		Alone     bool  `json:"alone"`      // no other page shares the browser
		PeakBytes int64 `json:"peak_bytes"` // 0 where that is not known
	}
	refusal struct {
		Error string `json:"error"`
		Kind  string `json:"kind"`
	}
)

var errSecret = errors.New("the address lacks the secret of a visit or page that is open")

func (h *Host) ofVisit(do func(http.ResponseWriter, *http.Request, *Visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, ok := h.visit(r.PathValue("visit"))
		if !ok {
			refuse(w, http.StatusForbidden, "refused", errSecret)
			return
		}
		do(w, r, v)
	}
}

func (h *Host) ofPage(do func(http.ResponseWriter, *http.Request, *opened)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, ok := h.page(r.PathValue("page"))
		if !ok {
			refuse(w, http.StatusForbidden, "refused", errSecret)
			return
		}
		do(w, r, p)
	}
}

// askPage opens a fresh page for the visit and tells what it is.
func (h *Host) askPage(w http.ResponseWriter, r *http.Request, v *Visit) {
	p, err := v.fresh(r.Context())
	if err != nil {
		failed(w, err)
		return
	}
	answer := pageAnswer{About: p.page.About(), Hello: p.hello}
	if h.files.Tuned != nil {
		if answer.Tuned, err = h.files.Tuned(p.page.About()); err != nil {
			failed(w, err)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// relay hands a call to the visit's page.
func (h *Host) relay(w http.ResponseWriter, r *http.Request, v *Visit) {
	frame, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostFrame))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "refused", err)
		return
	}
	answer, err := v.call(r.Context(), frame)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(answer)
}

// memory tells what the browser of the visit's page held at most.
func (h *Host) memory(w http.ResponseWriter, _ *http.Request, v *Visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.page == nil {
		failed(w, errNoPage)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(memoryAnswer{PeakBytes: v.page.page.PeakBytes(), Alone: v.where.Alone})
}

// failed answers a child whose page could not do what was asked.
func failed(w http.ResponseWriter, err error) {
	var timeout *TimeoutError
	var gone *GoneError
	switch {
	case errors.As(err, &timeout):
		refuse(w, http.StatusGatewayTimeout, "timeout", err)
	case errors.As(err, &gone):
		refuse(w, http.StatusBadGateway, "gone", err)
	case errors.Is(err, errNoPage):
		refuse(w, http.StatusConflict, "refused", err)
	default:
		refuse(w, http.StatusServiceUnavailable, "unopened", err)
	}
}

func (h *Host) index(w http.ResponseWriter, r *http.Request, _ *opened) {
	http.ServeFileFS(w, r, h.files.Page, "runner.html")
}

// socket is the page's end of the relay. It stays for as long as the page does.
func (h *Host) socket(w http.ResponseWriter, r *http.Request, p *opened) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	c.SetReadLimit(mostFrame)
	_, hello, err := c.Read(r.Context())
	if err != nil || !json.Valid(hello) || !p.connected(c, hello) {
		_ = c.Close(websocket.StatusPolicyViolation, "this page is not expected")
		return
	}
	<-p.ended
}

func (h *Host) file(w http.ResponseWriter, r *http.Request, p *opened) {
	file, ok := p.file(r.PathValue("number"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	serve(w, r, file)
}

// packages serves the files of installed packages, which never change under
// the same address: the browser may keep them, and what it compiled of them.
func (h *Host) packages(w http.ResponseWriter, r *http.Request) {
	rest := path.Clean("/" + r.PathValue("rest"))[1:]
	name, file, _ := strings.Cut(rest, "/")
	if strings.HasPrefix(name, "@") {
		second, after, _ := strings.Cut(file, "/")
		name, file = name+"/"+second, after
	}
	dir, ok := h.files.Package(name)
	if !ok || !filepath.IsLocal(filepath.FromSlash(file)) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	serve(w, r, filepath.Join(dir, filepath.FromSlash(file)))
}

// contentTypes are those on which browsers insist; the system's table may lack them.
var contentTypes = map[string]string{".wasm": "application/wasm", ".mjs": "text/javascript", ".js": "text/javascript"}

// SetType tells the type of a file where browsers insist on it.
func SetType(header http.Header, file string) {
	if t := contentTypes[filepath.Ext(file)]; t != "" {
		header.Set("Content-Type", t)
	}
}

func serve(w http.ResponseWriter, r *http.Request, file string) {
	f, err := os.Open(file)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		http.NotFound(w, r)
		return
	}
	SetType(w.Header(), file)
	http.ServeContent(w, r, filepath.Base(file), info.ModTime(), f)
}

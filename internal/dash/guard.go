package dash

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// policy lets pages load what is theirs and nothing else: no inline script, no other
// site, no frame but our own report.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; object-src 'none'"

// guarded puts the guards in front of a handler, in the order in which they refuse.
func (s *Server) guarded(next http.Handler) http.Handler {
	for _, guard := range []func(http.Handler) http.Handler{s.bounded, s.known, s.sameSite, s.atHome, headed, paced} {
		next = guard(next)
	}
	return next
}

// problem answers with an error in the form of all others.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}

// headed sets the headers that every answer has.
func headed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// atHome refuses requests under a name that is not this server's: its owner may have
// led it here so that a page of theirs counts as ours (DNS rebinding). An address of
// numbers cannot be led anywhere.
func (s *Server) atHome(next http.Handler) http.Handler {
	names := append([]string{"localhost"}, s.o.Names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isHome(names, r.Host) {
			problem(w, http.StatusForbidden, "this server does not answer under the name in the request's Host header: use the address that assay printed")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isHome(names []string, hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport // without a port
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool {
		suffix, star := strings.CutPrefix(name, "*")
		if star { // of a certificate: one label more
			first, rest, ok := strings.Cut(host, ".")
			return ok && first != "" && strings.EqualFold("."+rest, suffix)
		}
		return strings.EqualFold(name, host)
	})
}

// sameSite refuses what a page of another site asks for. Links from elsewhere may
// lead to our pages; nothing else may.
func (s *Server) sameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !fromHere(r) {
			problem(w, http.StatusForbidden, "another site's page made this request: open the address that assay printed")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func fromHere(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false // "null" too: it is whose page does not want to say
		}
	}
	if len(origins) > 1 {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	link := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return link && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/")
}

// cookie is what a page brings in the place of a header.
const cookie = "assay_token"

// known refuses who does not bring the token, where there is one. A browser brings it
// once in the address, and has it as a cookie from then on.
func (s *Server) known(next http.Handler) http.Handler {
	if s.o.Token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if given := r.URL.Query().Get("token"); r.Method == http.MethodGet && given != "" && s.isToken(given) {
			s.remember(w, r)
			return
		}
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		held, err := r.Cookie(cookie)
		if !s.isToken(bearer) && (err != nil || !s.isToken(held.Value)) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="assay"`)
			problem(w, http.StatusUnauthorized, "the token is missing or wrong: open the address that assay printed, or send the header Authorization: Bearer TOKEN")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isToken compares in a time that tells nothing about the token.
func (s *Server) isToken(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.o.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// remember sets the cookie and leads to the same page without the token in its address.
func (s *Server) remember(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // on 127.0.0.1 there is no TLS, and a secure cookie would not come back
		Name: cookie, Value: s.o.Token, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
	to := *r.URL
	query := to.Query()
	query.Del("token")
	to.RawQuery, to.Scheme, to.Host = query.Encode(), "", ""
	to.Path, to.RawPath = "/"+strings.TrimLeft(to.Path, "/\\"), "" // never another server's
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to.String(), http.StatusSeeOther) //nolint:gosec // without scheme and host, and with one slash, it stays here
}

// mostBody is the largest body that any operation takes; most take far less.
const mostBody = 32 << 20

// bounded refuses bodies that are too large before they are read, and forms: those
// are what another site could send without asking.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > mostBody {
			w.Header().Set("Connection", "close")
			problem(w, http.StatusRequestEntityTooLarge, "the body is larger than 32 MiB")
			return
		}
		if r.ContentLength != 0 && r.Body != http.NoBody {
			kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
			if err != nil || kind != "application/json" {
				problem(w, http.StatusUnsupportedMediaType, "the body must be JSON, with the header Content-Type: application/json")
				return
			}
			body := &arriving{ReadCloser: http.MaxBytesReader(w, r.Body, mostBody)}
			r.Body = body
			next.ServeHTTP(&telling{ResponseWriter: w, body: body}, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// arriving is a body as it comes in.
type arriving struct {
	io.ReadCloser
	broken bool // it ended before its end, or is no body at all
}

func (a *arriving) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		large, slow := (*http.MaxBytesError)(nil), net.Error(nil)
		a.broken = !errors.As(err, &large) && (!errors.As(err, &slow) || !slow.Timeout())
	}
	return n, err
}

// telling answers in the place of what calls a body that broke off a fault of the server's.
type telling struct {
	http.ResponseWriter
	body *arriving
	told bool
}

// WriteHeader begins the answer.
func (t *telling) WriteHeader(status int) {
	if t.body.broken && status >= http.StatusInternalServerError {
		t.told = true
		t.Header().Set("Connection", "close")
		problem(t.ResponseWriter, http.StatusBadRequest, "the body ended too early, or is not what its headers say")
		return
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write goes on with it.
func (t *telling) Write(b []byte) (int, error) {
	if t.told {
		return len(b), nil
	}
	return t.ResponseWriter.Write(b)
}

// Unwrap lets others reach what is underneath.
func (t *telling) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// writeLimit is how long a client may take to accept what is written to it at once.
const writeLimit = 20 * time.Second

// paced ends answers to clients that do not read: each write has a limit.
func paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&pacedWriter{w, http.NewResponseController(w)}, r)
	})
}

type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// mostPart is how much a client must take within the limit.
const mostPart = 256 << 10

// Write sets the limit anew, for each part of what is large.
func (p *pacedWriter) Write(b []byte) (int, error) {
	for done := 0; ; {
		p.renew()
		n, err := p.ResponseWriter.Write(b[done:min(len(b), done+mostPart)])
		done += n
		if err != nil || done == len(b) {
			return done, err
		}
	}
}

// renew sets the limit. A server without limits, such as a test's, has none.
func (p *pacedWriter) renew() { _ = p.control.SetWriteDeadline(time.Now().Add(writeLimit)) }

// Unwrap lets others reach what is underneath.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Flush sends what was written.
func (p *pacedWriter) Flush() {
	p.renew()
	_ = p.control.Flush()
}

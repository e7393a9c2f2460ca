package weblab

import (
	"errors"
	"io"
	"net/http"

	"assay/internal/browser"
	"assay/internal/detect"
	"assay/internal/pages"
)

// mostAnswer bounds what a browser says that it can do.
const mostAnswer = 1 << 20

// routes are the lab's addresses. All of its own hold the secret; those of the
// runner pages hold theirs.
func (l *Lab) routes() http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("GET /lab/{secret}/socket", l.welcome)
	own.HandleFunc("GET /lab/{secret}/probe/{guest}/{$}", l.ofGuest(l.probePage))
	own.HandleFunc("POST /lab/{secret}/probe/{guest}/answer", l.ofGuest(l.answer))
	own.HandleFunc("GET /lab/{secret}/{file}", l.file)
	mux := http.NewServeMux()
	// The way in may be a link on any site; whatever it leads to asks from here.
	mux.HandleFunc("GET /lab/{secret}/{$}", l.secretly(http.HandlerFunc(l.index)))
	mux.HandleFunc("/lab/{secret}/", l.secretly(pages.Isolated(own)))
	mux.Handle("/pages/", l.o.Pages.Handler())
	mux.Handle("/page/", l.o.Pages.Handler())
	mux.Handle("/packages/", l.o.Pages.Handler())
	if l.o.Rest != nil {
		mux.Handle("/", l.o.Rest)
	} else {
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w) })
	}
	return l.atHome(mux)
}

var errSecret = errors.New("the address lacks the secret of this web lab: use the one that assay printed")

func refuse(w http.ResponseWriter) { http.Error(w, errSecret.Error(), http.StatusForbidden) }

// secretly lets those in who know the secret.
func (l *Lab) secretly(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("secret") != l.secret {
			refuse(w)
			return
		}
		w.Header().Set("Referrer-Policy", "no-referrer") // the address is a secret
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	}
}

// index is the lab page. It loads nothing from elsewhere, and nobody else may
// show it in a frame.
func (l *Lab) index(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeFileFS(w, r, l.o.Files, "lab.html")
}

func (l *Lab) file(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, l.o.Files, r.PathValue("file"))
}

func (l *Lab) ofGuest(do func(http.ResponseWriter, *http.Request, *guest)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		g, ok := l.guest(r.PathValue("guest"))
		if !ok {
			refuse(w)
			return
		}
		do(w, r, g)
	}
}

func (l *Lab) probePage(w http.ResponseWriter, _ *http.Request, _ *guest) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(browser.ProbePage()) // a page that did not arrive does not answer
}

func (l *Lab) answer(w http.ResponseWriter, r *http.Request, g *guest) {
	var answer detect.BrowserAnswer
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostAnswer))
	if err == nil {
		err = hearing(text, &answer)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case g.probed <- answer:
	default: // it answered already
	}
}

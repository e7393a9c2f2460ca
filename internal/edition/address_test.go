package edition

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/internal/input"

	"aead.dev/minisign"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	_, private := keys(t)
	file := small(t, "1")
	signature := minisign.Sign(private, file)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good", "/unsigned":
			w.Write(file)
		case "/good" + Ending:
			w.Write(signature)
		case "/large":
			w.Write(make([]byte, Most+1))
		case "/cut":
			w.Header().Set("Content-Length", "100")
			w.Write(file[:10])
		case "/elsewhere":
			http.Redirect(w, r, "http://"+r.Host+"/none?token=hush-redirected", http.StatusFound)
		case "/nowhere":
			http.Redirect(w, r, "gopher://hush:hush@nowhere/?hush", http.StatusFound)
		case "/unreadable":
			w.Header().Set("Location", "http://hush:hush@bad host/?hush")
			w.WriteHeader(http.StatusFound)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, before := range []string{"http://" + host, "http://hush-user:hush-word@" + host, "http://hush-user@" + host} {
		for _, after := range []string{"", "?token=hush-token", "?hush-token#hush-part"} {
			got, sig, err := Fetch(t.Context(), before+"/good"+after)
			if err != nil || !bytes.Equal(got, file) || !bytes.Equal(sig, signature) {
				t.Errorf("%s…%s: %d bytes, %v", before, after, len(got), err)
			}
			for _, path := range []string{"/unsigned", "/large", "/none", "/elsewhere", "/nowhere", "/unreadable", "/cut"} {
				_, _, err := Fetch(t.Context(), before+path+after)
				if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "http://"+host+path) {
					t.Errorf("%s%s%s: %v", before, path, after, err)
				}
			}
			_, _, err = Fetch(t.Context(), strings.Replace(before, server.URL[len("http://"):], strings.TrimPrefix(closed.URL, "http://"), 1)+"/x"+after)
			if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "check the address") {
				t.Errorf("nobody is there: %v", err)
			}
		}
	}
	large := (*input.LargeError)(nil)
	if _, _, err := Fetch(t.Context(), server.URL+"/large"); !errors.As(err, &large) {
		t.Errorf("%v", err)
	}
}

// A token never appears, whatever an address looks like.
func TestShown(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]string{
		"atlas.jsonl.br":                            "atlas.jsonl.br",
		"https://host/a/b.br":                       "https://host/a/b.br",
		"https://host:8080/b?hush":                  "https://host:8080/b?…",
		"https://hush:hush@host/b#hush":             "https://host/b",
		"https://hush@host/b?x=hush&y=hush":         "https://host/b?…",
		"https://hush:hush@host:port/b":             "https://…",
		"https://hu sh:hush@host/b":                 "https://…",
		"ftp://hush:hush@host/b":                    "ftp://host/b",
		"https://?hush":                             "https://…",
		"hush@host://b":                             "…://…",
		"https://hush:%zz@host/b":                   "https://…",
		"https://host/b?x=https://hush:hush@host/c": "https://host/b?…",
	} {
		if got := Shown(place); got != want {
			t.Errorf("%s became %s, want %s", place, got, want)
		}
	}
	for _, place := range []string{"ftp://hush:hush@host/b", "https://hush:hush@host:port/b", "https://:80/hush?hush", "https://"} {
		wrong := (*AddressError)(nil)
		if _, _, err := Fetch(t.Context(), place); !errors.As(err, &wrong) || strings.Contains(err.Error(), "hush:") || !IsAddress(place) {
			t.Errorf("%s: %v", place, err)
		}
	}
}

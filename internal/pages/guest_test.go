package pages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestVisitsSayWhere: a visit's own browsers open its pages, also where the
// host has none.
func TestVisitsSayWhere(t *testing.T) {
	t.Parallel()
	h := host(t, nil)
	v := h.Visit(t.Context(), Where{In: &visitor{answer: echo}})
	asked(t, v)
	if status, frame := call(t, v, `{"op":"run"}`, "rest"); status != http.StatusOK || !strings.HasSuffix(string(frame), "rest") {
		t.Errorf("%d %q", status, frame)
	}
}

// TestHandler: where other machines may ask, pages are served, and nothing of
// what children do, even to those who know a visit's secret.
func TestHandler(t *testing.T) {
	t.Parallel()
	h := host(t, &visitor{answer: echo})
	v := h.Visit(t.Context(), Where{})
	asked(t, v)
	public := httptest.NewServer(h.Handler())
	t.Cleanup(public.Close)
	secret := strings.TrimPrefix(v.Address(), h.address)
	for _, path := range []string{"/page", "/call"} {
		if status, _ := post(t, public.URL+secret+path, nil); status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status, text := get(t, public.URL+"/page/runner.html"); status != http.StatusOK || text != "<p>page</p>" {
		t.Errorf("the page: %d %s", status, text)
	}
}

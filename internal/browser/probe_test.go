package browser

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"assay/internal/detect"
)

func TestServeProbe(t *testing.T) {
	t.Parallel()
	said := make(chan detect.BrowserAnswer, 1)
	url, stop, err := serveProbe(t.Context(), said)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	page, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	if err != nil || !strings.Contains(string(text), "requestAdapter") {
		t.Errorf("the page is %.60q (%v)", text, err)
	}
	for name, want := range map[string]string{"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	root := url[:strings.LastIndex(strings.TrimSuffix(url, "/"), "/")+1]
	for _, c := range []struct {
		name, url, body string
		status          int
	}{
		{"garbage", url + "answer", "{", http.StatusBadRequest},
		{"too much", url + "answer", `{"webgpu": {"vendor": "` + strings.Repeat("x", 2<<20) + `"}}`, http.StatusBadRequest},
		{"without the secret", root + "answer", "{}", http.StatusNotFound},
		{"an answer", url + "answer", `{"webgpu": {"vendor": "first"}}`, http.StatusOK},
		{"a second answer", url + "answer", `{"webgpu": {"vendor": "second"}}`, http.StatusOK},
	} {
		response, err := http.Post(c.url, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.name, response.Status, c.status)
		}
	}
	if answer := <-said; answer.WebGPU.Vendor != "first" || len(said) > 0 {
		t.Errorf("heard %q, and %d more", answer.WebGPU.Vendor, len(said))
	}
}

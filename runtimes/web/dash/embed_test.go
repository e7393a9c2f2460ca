package dash

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestLimits: the site is at most 300 kB before its data, packed as servers pack
// it, and no page asks for anything from elsewhere or has a script inside.
func TestLimits(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for _, name := range []string{"app.js", "app.css", "icon.svg"} {
		b, err := fs.ReadFile(Files(), name)
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || packed.Len() > 300e3 {
		t.Errorf("%d bytes, %v", packed.Len(), err)
	}
	page, err := fs.ReadFile(Files(), "index.html")
	if err != nil || strings.Contains(string(page), "<style") || regexp.MustCompile(`<script[^>]*>[^<]`).Match(page) || strings.Contains(string(page), "://") {
		t.Errorf("%v\n%s", err, page)
	}
}

// TestFirstPaint: the dashboard's page shows something once it and its style sheet are there: the
// script does not hold that up, and takes away what it makes anew.
func TestFirstPaint(t *testing.T) {
	t.Parallel()
	page, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(page), "<body>")
	body, _, _ = strings.Cut(body, "<noscript>")
	if !regexp.MustCompile(`^<header class="top"><a class="brand" href="/"><svg .*</svg><span>Assay</span></a></header>\s*$`).MatchString(body) {
		t.Errorf("before the script there is %q", body)
	}
	for _, script := range regexp.MustCompile(`<script[^>]*>`).FindAllString(string(page), -1) {
		if !strings.Contains(script, " defer") {
			t.Errorf("%s holds up the page", script)
		}
	}
	script, err := fs.ReadFile(Files(), "app.js")
	if err != nil || !strings.Contains(string(script), `querySelector("header.top")?.remove()`) {
		t.Errorf("the script leaves the header twice, %v", err)
	}
}

// TestLock: exact versions, hashes, and no addresses.
func TestLock(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, Resolved  string
			Dependencies, DevDependencies map[string]string
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil || len(lock.Packages) < 4 {
		t.Fatalf("%d packages, %v", len(lock.Packages), err)
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Version == "" || p.Integrity == "" || p.Resolved != "") {
			t.Errorf("%s is not locked by version and hash alone", name)
		}
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for _, asked := range []map[string]string{lock.Packages[""].Dependencies, lock.Packages[""].DevDependencies} {
		for name, version := range asked {
			if !exact.MatchString(version) {
				t.Errorf("%s is asked for as %q", name, version)
			}
		}
	}
}

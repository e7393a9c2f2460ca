//go:build integration

package site

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/pagetest"
)

// written is the address of a whole site on the disk.
func written(t *testing.T) string {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	book, err := atlas.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := Write(dir, Input{Catalog: cat, Book: book, Now: time.Now(), Assay: "test"}); err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir) + "/"}
	return u.String()
}

// axe is the script of axe-core, which npm installs with the pages' tools.
func axe(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "runtimes", "web", "dash", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("%v (make pages installs it)", err)
	}
	return string(b)
}

// pages are all kinds of them.
var allPages = []string{"index.html", "matrix.html", "model/bert.html", "model/t5.html", "platform/cuda.html", "platform/qnn.html", "findings.html", "method.html", "quality.html", "data.html"}

// TestIntegrationSite opens every kind of page from a disk, in each view, and
// asks axe-core about it.
func TestIntegrationSite(t *testing.T) {
	t.Parallel()
	site, check := written(t), axe(t)
	p := pagetest.On(t, pagetest.Chromium(t))
	for _, v := range pagetest.Views() {
		for _, name := range allPages {
			p.Visit(site+name, v)
			p.Keep("site-" + name + "-" + v.Name)
			p.Clean(name + " " + v.Name)
			p.Audit(name+" "+v.Name, check)
			p.Problems() // axe itself may be refused something
			if wide := pagetest.Value[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				t.Errorf("%s %s: the page is %d px too wide", name, v.Name, wide)
			}
		}
	}
}

//go:build integration

package site

import (
	"bytes"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/pagetest"
	"assay/internal/platform"
)

// partOf is the address of a site whose atlas knows of one column only some types,
// each of which works, since a day.
func partOf(t *testing.T, known int, since time.Time) string {
	t.Helper()
	in := input(t)
	chosen, err := in.Catalog.Select(catalog.Selector{All: true})
	if err != nil {
		t.Fatal(err)
	}
	cuda := atlas.Column{Target: "cuda", DType: platform.FP32}
	run := &atlas.Run{ID: "20261117T120000Z-aaaaaa", Assay: "abc1234", Host: atlas.Host{ID: "h", CPU: "a CPU"}}
	all := atlas.Atlas{Transformers: "5.22.2", Columns: []atlas.Column{cuda}}
	for i, c := range chosen {
		claim := atlas.Unknown(cuda, "no run is published")
		if i < known {
			claim = atlas.Claim{Column: cuda, Verdict: cell.Works, Evidence: cell.Measured, Of: c.Entry.Type, Versions: map[string]string{"torch": "2.15.0"}, Run: run, At: since}
		}
		all.Rows = append(all.Rows, atlas.Row{Type: c.Entry.Type, Claims: []atlas.Claim{claim}})
	}
	file, err := all.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if in.Book, err = atlas.Open(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := Write(dir, in); err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir) + "/"}
	return u.String()
}

// TestIntegrationIncomplete: an atlas that knows nothing, or half, never looks
// like a result, and what is old is marked.
func TestIntegrationIncomplete(t *testing.T) {
	t.Parallel()
	p := pagetest.On(t, pagetest.Chromium(t))
	old := time.Now().Add(-40 * 24 * time.Hour)
	for _, x := range []struct {
		known int
		says  string
		share bool
	}{{0, "never run, 0 of 781", false}, {390, "incomplete, 390 of 781", false}, {781, "781 of 781 (100 %)", true}} {
		site := partOf(t, x.known, old)
		for _, name := range []string{"index.html", "platform/cuda.html", "quality.html", "matrix.html"} {
			p.Visit(site+name, pagetest.Desktop)
			p.Await("document.querySelectorAll('.bar').length > 0")
			text := pagetest.Value[string](p, "document.querySelector('main').innerText")
			if shares := pagetest.Value[bool](p, `/\d ?%/.test(document.querySelector("main").innerText)`); shares && !x.share {
				t.Errorf("%d of 781 known: %s shows a share: %s", x.known, name, text)
			}
		}
		p.Visit(site+"platform/cuda.html", pagetest.Desktop)
		if got := pagetest.Value[string](p, "document.querySelector('.sub').innerText"); len(got) < len(x.says) || got[:len(x.says)] != x.says {
			t.Errorf("%d of 781 known: %q, want %q", x.known, got, x.says)
		}
		p.Visit(site+"matrix.html#stale=1", pagetest.Desktop)
		if stale := pagetest.Value[bool](p, "document.querySelectorAll('.tile.stale .old').length > 0"); stale != (x.known > 0) {
			t.Errorf("%d of 781 known, all older than 30 days: stale cells are shown: %t", x.known, stale)
		}
	}
	p.Clean("incomplete")
}

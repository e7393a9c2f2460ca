//go:build integration

package site

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/pagetest"
)

// written is the address of a whole site on the disk.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := Write(dir, input(t)); err != nil {
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

// kinds are pages of every kind, and one whose filters come from its address.
var kinds = []string{"index.html", "matrix.html", "matrix.html#family=vision&verdict=fails&on=qnn", "model/bert.html", "model/t5.html#as=google-t5%2Ft5-small", "platform/qnn.html", "findings.html", "method.html", "quality.html", "data.html"}

// look opens a page and checks all that holds for every page.
func look(t *testing.T, p *pagetest.Page, site, name string, v pagetest.View, check string) {
	t.Helper()
	where := name + " " + v.Name
	p.Visit(site+name, v)
	p.Keep("site-" + strings.NewReplacer("#", "-", "%", "-").Replace(name) + "-" + v.Name)
	p.Clean(where)
	if wide := pagetest.Value[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		t.Errorf("%s: the page is %d px too wide", where, wide)
	}
	if check != "" {
		p.Audit(where, check)
		p.Problems() // those of the check itself
	}
}

// TestIntegrationSite opens pages of every kind from a disk, in each view, and
// asks axe-core about them.
func TestIntegrationSite(t *testing.T) {
	t.Parallel()
	site, check := written(t), axe(t)
	p := pagetest.On(t, pagetest.Chromium(t))
	for _, v := range pagetest.Views() {
		for _, name := range kinds {
			look(t, p, site, name, v, check)
		}
	}
}

// TestIntegrationSiteInFirefox does the same in Firefox, whose scheme of colours is set when it starts.
func TestIntegrationSiteInFirefox(t *testing.T) {
	t.Parallel()
	site, check := written(t), axe(t)
	p := pagetest.On(t, pagetest.Firefox(t, true))
	for _, v := range []pagetest.View{{Name: "firefox", Width: 1360, Height: 900, Dark: true}, {Name: "firefox-phone", Width: 390, Height: 844, Dark: true}} {
		for _, name := range kinds {
			look(t, p, site, name, v, check)
		}
	}
	use(t, p, site)
}

// TestIntegrationSiteControls uses every control.
func TestIntegrationSiteControls(t *testing.T) {
	t.Parallel()
	p := pagetest.On(t, pagetest.Chromium(t))
	use(t, p, written(t))
}

// TestIntegrationSiteTimes measures opening pages from a disk, and filters.
func TestIntegrationSiteTimes(t *testing.T) {
	p := pagetest.On(t, pagetest.Chromium(t))
	site := written(t)
	p.Visit(site+"index.html", pagetest.Desktop) // the browser itself is cold
	p.Visit(site+"index.html", pagetest.Desktop)
	p.Judge("front page", p.Time("first-paint"), pagetest.Times{Paint: 1000, Ready: 1000})
	p.Visit(site+"matrix.html", pagetest.Desktop)
	p.Do("document.querySelector('.find').focus()")
	p.Write("transformer")
	p.Await("location.hash === '#q=transformer'")
	p.Judge("matrix", p.Time("matrix-ready"), pagetest.Times{Paint: 1000, Ready: 1000, Filter: 100})
}

// click is a script that clicks the first element of a selector.
func click(selector string) string { return "document.querySelector(" + quote(selector) + ").click()" }

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }

func use(t *testing.T, p *pagetest.Page, site string) {
	t.Helper()
	searching(t, p, site)
	filtering(t, p, site)
	details(t, p, site)
	p.Clean("controls")
}

// searching finds a chip by what people call it, a checkpoint, and nothing.
func searching(t *testing.T, p *pagetest.Page, site string) {
	t.Helper()
	p.Visit(site+"index.html", pagetest.Desktop)
	p.Do("document.querySelector('.hero input').focus()")
	p.Write("snapdragon 8 gen")
	p.Await("document.querySelector('[role=option] b')?.textContent === 'qnn'")
	p.Keep("site-search")
	p.Write(pagetest.Enter)
	p.Await("location.pathname.endsWith('/platform/qnn.html') && document.documentElement.dataset.ready === 'yes' && document.querySelector('h1').textContent.includes('QNN')")
	p.Do("document.querySelector('.search input').focus()")
	p.Write("whisper-tiny")
	p.Await("document.querySelector('[role=option] b')?.textContent === 'openai/whisper-tiny'")
	p.Do(click("[role=option]"))
	p.Await("location.pathname.endsWith('/model/whisper.html') && document.querySelector('h1')?.textContent === 'openai/whisper-tiny' && document.body.innerText.includes('predicted from its type')")
	p.Do("document.querySelector('.search input').focus()")
	p.Write("<img src=x>zzz")
	p.Await("document.querySelector('[role=listbox]').innerText.includes('Nothing is called') && document.querySelector('[role=listbox] img') === null")
}

// filtering narrows the matrix by each filter, folds, sorts, and finds the view
// again by its address.
func filtering(t *testing.T, p *pagetest.Page, site string) {
	t.Helper()
	p.Visit(site+"matrix.html", pagetest.Desktop)
	shown := func(expression string) {
		t.Helper()
		p.Await("document.getElementById('shown').textContent." + expression)
	}
	shown("startsWith('781 of 781 types')")
	p.Do("document.querySelector('.find').focus()")
	p.Write("bert")
	shown("match(/^[1-9]\\d? of 781 types/) !== null")
	p.Await("location.hash === '#q=bert'")
	if took := pagetest.Value[float64](p, "Math.max(...performance.getEntriesByName('filter').map((m) => m.duration))"); took > 2000 {
		t.Errorf("a filter took %.0f ms", took)
	}
	for _, f := range []struct{ label, name, value string }{{"Families", "family", "Encoder-only"}, {"Verdicts", "verdict", "works"}, {"Targets", "on", "cuda"}, {"Evidence", "evidence", "measured"}} {
		p.Do("[...document.querySelectorAll('.drop')].find((d) => d.innerText.startsWith('" + f.label + "')).open = true")
		p.Do("[...document.querySelectorAll('.menu .chip')].find((c) => c.innerText.trim().endsWith('" + f.value + "')).querySelector('input').click()")
		p.Await("location.hash.includes('" + f.name + "=')")
	}
	p.Await("document.querySelectorAll('.matrix thead th').length === 2")
	address := pagetest.Value[string](p, "location.href")
	count := pagetest.Value[string](p, "document.getElementById('shown').textContent")
	p.Visit(address, pagetest.Desktop)
	if again := pagetest.Value[string](p, "document.getElementById('shown').textContent"); again != count {
		t.Errorf("%s shows %q, and showed %q", address, again, count)
	}
	p.Do("[...document.querySelectorAll('.tools button')].find((b) => b.textContent === 'Clear').click()")
	shown("startsWith('781 of 781 types')")
	p.Do("document.querySelector('.tools select').value = 'high', document.querySelector('.tools select').dispatchEvent(new Event('change'))")
	shown("startsWith('781') === false")
	p.Do("[...document.querySelectorAll('.tools .chip')].find((c) => c.innerText.trim() === 'Stale').querySelector('input').click()")
	p.Await("location.hash.includes('stale=1')")
	p.Do("[...document.querySelectorAll('.tools button')].find((b) => b.textContent === 'Clear').click()")
	p.Do("[...document.querySelectorAll('.tools button')].find((b) => b.textContent === 'Fold').click()")
	p.Await("document.querySelectorAll('.matrix .tile').length === 0 && document.querySelectorAll('.family').length > 10")
	p.Keep("site-folded")
	p.Do(click(".family button"))
	p.Await("document.querySelectorAll('.matrix .tile').length > 0")
	p.Do(click("[data-sort=cuda]"))
	p.Await("document.querySelector('[aria-sort]') !== null && document.querySelectorAll('.family').length === 0")
}

// details opens a cell by the keyboard alone, and gives the focus back.
func details(t *testing.T, p *pagetest.Page, site string) {
	t.Helper()
	p.Visit(site+"matrix.html#q=xclip&on=cuda,qnn", pagetest.Desktop)
	p.Do("document.querySelector('.matrix tbody [tabindex=\"0\"]').focus()")
	p.Write(pagetest.Down + pagetest.Right)
	p.Await("document.activeElement.dataset.target === 'cuda'")
	p.Write(pagetest.Enter)
	p.Await("document.querySelector('dialog').open && document.querySelector('dialog').innerText.includes('NVIDIA H200') && document.querySelector('dialog').innerText.includes('assay test xclip')")
	p.Keep("site-details")
	p.Write(pagetest.Escape)
	p.Await("!document.querySelector('dialog').open && document.activeElement.dataset.target === 'cuda'")
	p.Do("document.activeElement.click()")
	p.Await("document.querySelector('dialog .ways a') !== null")
	p.Do(click("dialog .ways a"))
	p.Await("location.pathname.endsWith('/model/xclip_text_model.html') && document.documentElement.dataset.ready === 'yes'")
	p.Do(click("main button.bare"))
	p.Await("document.querySelector('dialog').open")
	p.Visit(site+"platform/qnn.html", pagetest.Desktop)
	p.Do(click("[data-verdict=fails]"))
	p.Await("location.hash === '#verdict=fails' && document.querySelector('[data-verdict=fails]').getAttribute('aria-pressed') === 'true' && document.querySelectorAll('.names li').length > 10")
	p.Do(click(".legend summary"))
	p.Await("document.querySelector('.legend').open")
}

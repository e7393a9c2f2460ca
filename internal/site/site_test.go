package site

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
)

func input(t testing.TB) Input {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	book, err := atlas.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return Input{Catalog: cat, Book: book, Now: time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC), Assay: "test"}
}

// A site has a page and data for every model and target, no page has a script or
// a style inside, and nothing in a page leads to another machine.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "site")
	w, err := Write(dir, input(t))
	if err != nil || w.Files < 1500 {
		t.Fatalf("%+v, %v", w, err)
	}
	inline := regexp.MustCompile(`<style|<script[^>]*>[^<]|style="|\son[a-z]+="|(?:src|href)="[a-z]+:`)
	pages := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		pages++
		b, err := os.ReadFile(path)
		if found := inline.Find(b); found != nil {
			t.Errorf("%s has %s", path, found)
		}
		return err
	})
	if err != nil || pages < 781+10 {
		t.Errorf("%d pages, %v", pages, err)
	}
	for _, name := range []string{"model/bert.html", "data/model/bert.js", "platform/qnn.html", "platform/cpu_onnxruntime.html", "data/board.js", "assets/app.js"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if err := free(dir); err != nil {
		t.Errorf("a site is not written over: %v", err)
	}
	checkData(t, dir)
}

func checkData(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "data", "atlas.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) < 781*10 {
		t.Errorf("%d lines of CSV, %v", len(rows), err)
	}
	var all struct{ Answers []atlas.Answer }
	b, err = os.ReadFile(filepath.Join(dir, "data", "atlas.json"))
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil || len(all.Answers) < 781 || len(all.Answers[0].Targets) < 10 {
		t.Errorf("%d answers, %v", len(all.Answers), err)
	}
	b, err = os.ReadFile(filepath.Join(dir, "model", "bert.html"))
	if err != nil || !strings.Contains(string(b), "<noscript>") || !strings.Contains(string(b), "NVIDIA H200") {
		t.Errorf("bert without JavaScript: %v", err)
	}
}

// What is in a folder is not written over.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, input(t)); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("%v", err)
	}
	if err := distinct([]file{{name: "model/Bert.html"}, {name: "model/bert.html"}}); err == nil {
		t.Error("two pages of one name on some systems")
	}
}

// A server gets the same data as JSON.
func TestData(t *testing.T) {
	t.Parallel()
	in := input(t)
	for _, name := range []string{"board.json", "quality.json", "findings.json", "method.json"} {
		b, err := Data(name, in)
		if err != nil || !json.Valid(b) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Data("../secret", in); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// The quality counts every planned cell once.
func TestQuality(t *testing.T) {
	t.Parallel()
	s := &site{Input: input(t)}
	for _, c := range s.quality().Columns {
		sum := c.Measured + c.Emulated + c.Compiled + c.Derived + c.Predicted + c.Unknown
		if c.Of < 781 || sum > c.Of || c.Target == "cuda" && (c.Measured < 700 || c.Oldest == nil || len(c.Versions) == 0) {
			t.Errorf("%+v", c)
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	got, err := textOf("x", "# One\n\nSee [there](other.md#a), [here](#one), [web](https://a.b/c) and `a](b` <script>alert(1)</script>.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n")
	for _, want := range []string{`<h1 id="one">`, "See there, ", `href="#one"`, `href="https://a.b/c"`, "<table>"} {
		if !strings.Contains(got.HTML, want) {
			t.Errorf("no %s in %s", want, got.HTML)
		}
	}
	if err != nil || strings.Contains(got.HTML, "<script") || strings.Contains(got.HTML, "other.md") {
		t.Errorf("%s, %v", got.HTML, err)
	}
}

func TestGuarded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"=1+1": "'=1+1", "-x": "'-x", "plain": "plain", "": ""} {
		if got := guarded(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := fileName("owner/näme:x"); got != "owner_n_me_x" {
		t.Error(got)
	}
}

// Package site writes the atlas as a static site: a folder of pages that works
// from a disk as it does from any server, and asks nobody for anything.
//
// Write makes it. A page for each model and each target is a small file that
// names the one script (runtimes/web/dash) and itself; the data lie beside them
// as scripts, because nothing can be fetched from a disk, and as JSON and CSV
// for other programs. Readers without JavaScript are given a plain table.
//
//	site.go      the folder: what is written, and what is never overwritten
//	pages.go     the pages
//	data.go      the data that pages read
//	downloads.go the data that people take away
//	quality.go   what each column rests on
//	texts.go     findings and method, from Markdown
//
// Data gives a server the same data with the user's own results in them.
package site

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/atlas"
	"assay/internal/board"
	"assay/internal/catalog"
	"assay/internal/matrix"
	"assay/internal/wholefile"
	"assay/runtimes/web/dash"
)

// Input is what a site is made of.
type Input struct {
	Catalog *catalog.Catalog
	Book    *atlas.Book
	Own     []matrix.Observation // none for a site
	Now     time.Time
	Assay   string // version
}

// Written is what Write made.
type Written struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// marker is the file by which a folder is known as a site that may be replaced.
const marker = "assay-site.json"

// Write writes the site into a folder, which is made. A folder that holds
// something else is refused.
func Write(dir string, in Input) (Written, error) {
	if err := free(dir); err != nil {
		return Written{}, err
	}
	s, err := assemble(in)
	if err != nil {
		return Written{}, err
	}
	files, err := s.files()
	if err != nil {
		return Written{}, err
	}
	var w Written
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return w, err
		}
		if err := wholefile.Write(path, f.content, wholefile.Options{Mode: 0o644}); err != nil {
			return w, err
		}
		w.Files++
		w.Bytes += int64(len(f.content))
	}
	return w, nil
}

// free refuses a folder with something in it that is no site of Assay's.
func free(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
		return fmt.Errorf("%s is not empty and holds no site of Assay's (%s): name another folder, or empty it", dir, marker)
	}
	return nil
}

// file is one of a site.
type file struct {
	name    string // with slashes, from the site's root
	content []byte
}

// site is one under construction.
type site struct {
	Input
	board  board.Board
	models []about
}

func assemble(in Input) (*site, error) {
	b, err := board.Make(board.Input{Catalog: in.Catalog, Book: in.Book, Own: in.Own, Now: in.Now, Assay: in.Assay})
	if err != nil {
		return nil, err
	}
	s := &site{Input: in, board: b}
	if err := s.ask(); err != nil {
		return nil, err
	}
	return s, nil
}

// files are all of the site.
func (s *site) files() ([]file, error) {
	var out []file
	for _, part := range []func() ([]file, error){s.assets, s.pages, s.data, s.downloads} {
		list, err := part()
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	if err := distinct(out); err != nil {
		return nil, err
	}
	return out, nil
}

// assets are those of every page. The charts are not among them: the atlas has
// no times.
func (s *site) assets() ([]file, error) {
	var out []file
	for _, name := range []string{"app.js", "app.css", "icon.svg"} {
		b, err := fs.ReadFile(dash.Assets(), name)
		if err != nil {
			return nil, err
		}
		out = append(out, file{"assets/" + name, b})
	}
	return append(out, file{marker, fmt.Appendf(nil, "{\"schema\":1,\"assay\":%q,\"made_at\":%q}\n", s.Assay, s.board.MadeAt.Format(time.RFC3339))}), nil
}

// distinct refuses names that some systems take for one.
func distinct(files []file) error {
	seen := map[string]string{}
	for _, f := range files {
		low := strings.ToLower(f.name)
		if other := seen[low]; other != "" {
			return fmt.Errorf("two pages have one name: %s and %s", other, f.name)
		}
		seen[low] = f.name
	}
	return nil
}

// fileName is the name of a model's or target's file: one that every system can
// have. The pages' script knows the same rule.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', strings.ContainsRune("._-", r):
			return r
		}
		return '_'
	}, name)
}

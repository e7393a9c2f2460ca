// Package dash carries the pages that people read: those of the dashboard and of
// the atlas as a site. They are one script, written in TypeScript (src/) and
// built by esbuild from a lock; what was built (dist/) lies in the repository, so
// that Go alone builds the program, and a test builds it again and compares.
//
// The same script serves both. A page tells it by attributes of its root element
// what it is: data-mode "dash" asks a server, "site" reads the scripts of data
// that lie beside it, since nothing can be fetched from a disk. No page loads
// anything from elsewhere, and none has a script or a style inside, so that a
// policy can forbid both.
package dash

import (
	"embed"
	"io/fs"
)

//go:embed dist/app.js dist/app.css dist/charts.js index.html icon.svg
var files embed.FS

// Assets are the scripts, the style sheet and the icon.
func Assets() fs.FS { return assets{} }

type assets struct{}

// Open opens an asset by its name alone.
func (assets) Open(name string) (fs.File, error) {
	switch name {
	case "app.js", "app.css", "charts.js":
		return files.Open("dist/" + name)
	case ".", "icon.svg", "index.html":
		return files.Open(name)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Files are what a server of the dashboard serves: index.html, which is every
// page, and the assets.
func Files() fs.FS { return assets{} }

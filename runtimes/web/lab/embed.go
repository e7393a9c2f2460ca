// Package lab carries the web lab's page inside the program: what a person
// sees who opens the lab in a browser.
package lab

import (
	"embed"
	"io/fs"
)

//go:embed *.html *.css *.mjs *.svg
var files embed.FS

// Files returns the page and what it loads.
func Files() fs.FS { return files }

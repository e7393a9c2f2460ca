// Package page carries the runner page inside the program: what a browser
// loads to run exported graphs, and the kernels of its own.
package page

import (
	"embed"
	"io/fs"
)

//go:embed *.html *.mjs kernels/*.mjs kernels/*.wgsl
var files embed.FS

// Files returns the page's own files.
func Files() fs.FS { return files }

// Package web carries the lists of the web environment inside the program: the
// packages that Assay's pages load, and the Chromium for machines that can run
// it, each with its lock. internal/environment installs them.
package web

import (
	"embed"
	"io/fs"
)

// Chromium has a list of its own: it is for Linux on x86-64, and nobody else
// should load it.
//
//go:embed package.json package-lock.json absent/package.json
var packages embed.FS

//go:embed chromium/package.json chromium/package-lock.json
var chromium embed.FS

// Packages returns the folder that npm installs the pages' packages in. The
// empty package "absent" lies in it, in place of two that only Node can use.
func Packages() fs.FS { return packages }

// Chromium returns the folder that npm installs the packed Chromium in.
func Chromium() fs.FS {
	sub, err := fs.Sub(chromium, "chromium")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

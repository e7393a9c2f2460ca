// Package docs carries the pages of this folder that the program shows itself.
package docs

import _ "embed" // the pages

// Findings are the faults that Assay found in libraries, in Markdown.
//
//go:embed findings.md
var Findings string

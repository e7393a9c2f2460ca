package dash

import (
	"io/fs"
	"testing/fstest"
)

// Placeholder is a page that says where the API is, for a program without pages.
func Placeholder() fs.FS {
	return fstest.MapFS{"index.html": {Data: []byte(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Assay</title>
<h1>Assay</h1>
<p>This program has no pages. Its API is described in <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`)}}
}

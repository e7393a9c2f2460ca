// Package python carries the Python runner inside the program: the sources of
// assay_runner and assay, and the locks of the packages it needs. internal/environment
// unpacks the one and installs the other.
package python

import (
	"embed"
	"io/fs"
)

// The patterns name files, not folders, so that __init__.py comes along and
// __pycache__ stays behind. A test compares what is embedded with the folder,
// so a deeper sub-package, or another kind of file, is not forgotten.
//
//go:embed assay_runner/*.py assay_runner/*/*.py assay_runner/*/*/*.py assay_runner/*/*.json assay/*.py assay/*.json assay/*/*.py
var sources embed.FS

//go:embed requirements.lock
var requirements []byte

//go:embed requirements.in
var wanted []byte

//go:embed boot.lock
var boot []byte

// Sources returns the tree that holds the packages assay_runner and assay. The latter
// lacks the catalogue: whoever starts it sends the recipe.
func Sources() fs.FS { return sources }

// Requirements returns the lock of the managed environment: exact versions and
// hashes for every platform, no addresses.
func Requirements() []byte { return append([]byte(nil), requirements...) }

// Wanted returns what the lock was made from: the packages that were asked for, with
// their versions.
func Wanted() []byte { return append([]byte(nil), wanted...) }

// Boot returns the lock of uv, which installs the managed environment.
func Boot() []byte { return append([]byte(nil), boot...) }

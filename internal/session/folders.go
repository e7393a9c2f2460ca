package session

import (
	"os"
	"path/filepath"
)

// cache is a folder for what is kept of a kind between runs; "" keeps nothing.
func (s *Session) cache(kind string) string {
	if s.o.Folders.Cache == "" {
		return ""
	}
	return filepath.Join(s.o.Folders.Detections(), kind)
}

// exports is the folder of exported models. Without a cache they last as long
// as the machine's temporary files do.
func (s *Session) exports() string {
	if s.o.Folders.Cache == "" {
		return filepath.Join(os.TempDir(), "assay-exports")
	}
	return s.o.Folders.Exports()
}

// recipes are those for one release of transformers; what was searched for is
// kept apart from other releases'.
func (s *Session) recipes(r *open) *recipes {
	out := s.knownRecipes(r.Hello().Versions["transformers"])
	out.runner, out.threads = r, max(1, s.cores()/s.o.Workers)
	return out
}

// cores are the physical ones that this process may use.
func (s *Session) cores() int { return max(1, s.Sighting().CPU.Usable) }

// knownRecipes are those that are at hand without a runner.
func (s *Session) knownRecipes(release string) *recipes {
	out := &recipes{catalog: s.o.Catalog, limit: s.o.Limit, release: release}
	if out.release != "" {
		// Another Assay may search better.
		out.cache = s.cache("recipes-" + out.release + "-" + s.o.Version)
	}
	return out
}

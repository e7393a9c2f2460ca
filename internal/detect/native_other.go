//go:build !windows

package detect

// addSystemFacts has nothing to add where files and commands tell it all.
func addSystemFacts(*Native) {}

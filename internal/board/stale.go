package board

import (
	"strconv"
	"strings"

	"assay/internal/atlas"
	"assay/internal/platform"
)

// engineOf names the libraries that execute on a target, the first of which is
// the engine itself.
func engineOf(target string) []string {
	t, err := platform.ParseTarget(target)
	if err != nil {
		return nil
	}
	traits := t.Engine.Traits()
	if traits.Pages {
		return []string{"onnxruntime-web", "browser"}
	}
	return append([]string(nil), traits.Libraries...)
}

// browserText is a browser's version as people read it.
func browserText(v string) string {
	return strings.Replace(v, "packed ", "Assay's own Chromium ", 1)
}

// Newest is the newest version of each engine that anything ran with.
type Newest map[string]string

// Add takes the engine of a claim in.
func (n Newest) Add(c atlas.Claim) {
	libs := engineOf(c.Target)
	if len(libs) == 0 || c.Versions[libs[0]] == "" {
		return
	}
	if v := c.Versions[libs[0]]; n[libs[0]] == "" || before(n[libs[0]], v) {
		n[libs[0]] = v
	}
}

// Newer is the engine that is newer than the one of a claim: "torch 2.15.0", or "".
func (n Newest) Newer(c atlas.Claim) string {
	libs := engineOf(c.Target)
	if len(libs) == 0 {
		return ""
	}
	if v := c.Versions[libs[0]]; v != "" && before(v, n[libs[0]]) {
		return libs[0] + " " + plain(n[libs[0]])
	}
	return ""
}

// plain is a version without its build: 2.11.0 of 2.11.0+cu130.
func plain(version string) string {
	v, _, _ := strings.Cut(version, "+")
	return v
}

// before compares versions part by part. Builds of one version are equal, and of
// a part that is no number nothing is said.
func before(a, b string) bool {
	x, y := strings.Split(plain(a), "."), strings.Split(plain(b), ".")
	for i := range min(len(x), len(y)) {
		m, errM := strconv.Atoi(x[i])
		n, errN := strconv.Atoi(y[i])
		if errM != nil || errN != nil {
			return false
		}
		if m != n {
			return m < n
		}
	}
	return len(x) < len(y)
}

package atlas

import (
	"strings"
	"testing"

	"assay/internal/cell"
)

// with is an own result of another version, hours after the atlas's.
func with(version string, v cell.Verdict) Own {
	return own(v, func(o *Own) { o.Context.Versions = map[string]string{"torch": version} })
}

// Versions are those that were tried, and a range only between two of them.
func TestVersions(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		own  []Own
		want string
	}{
		"one":               {nil, "worked with torch 2.11.0, others not tried"},
		"a range":           {[]Own{with("2.15.0", cell.Works), with("2.9.1", cell.Works)}, "worked with torch 2.9.1 to 2.15.0 (3 versions tried), others not tried"},
		"a hole in it":      {[]Own{with("2.15.0", cell.Works), with("2.12.0", cell.Fails)}, "worked with torch 2.11.0, 2.15.0, failed with 2.12.0, others not tried"},
		"outside of it":     {[]Own{with("2.15.0", cell.Fails), with("2.10.0", cell.Works)}, "worked with torch 2.10.0 to 2.11.0 (2 versions tried), failed with 2.15.0, others not tried"},
		"another came last": {[]Own{with("2.11.0", cell.Works)}, "worked with torch 2.11.0, others not tried"},
	} {
		l := ask(t, bert, "cuda", x.own...)
		if name == "outside of it" || name == "a hole in it" {
			l.ran = cell.Works // whichever of the own results speaks
		}
		if got := l.withVersions(); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
	if l := ask(t, bert, "mps"); l.withVersions() != "" || strings.Contains(l.why(), "tried") {
		t.Errorf("nobody tried: %q", l.why())
	}
}

func TestCompareVersions(t *testing.T) {
	t.Parallel()
	ordered := []string{"2.9.1", "2.10.0", "2.11.0", "2.11.0+cu130", "2026.4.1"}
	for i := range ordered {
		for j := range ordered {
			if got, want := compareVersions(ordered[i], ordered[j]) < 0, i < j; got != want {
				t.Errorf("%s before %s: %v", ordered[i], ordered[j], got)
			}
		}
	}
}

package report

import (
	"fmt"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// Finding is what was found about a model's own code, wherever it runs: a law
// that it breaks, or answers that a release changed.
type Finding struct {
	Model    string            `json:"model"`
	Target   string            `json:"target"`
	Law      *cell.Law         `json:"law,omitempty"`
	Changed  *cell.Changed     `json:"changed,omitempty"`
	Versions map[string]string `json:"versions"` // of the libraries that it is about
}

const findingsNote = "Of the models' own code, wherever it runs: laws of right models that are broken (assay test --laws), and answers that are not those of the releases before."

// findings are those of the newest results.
func findings(latest []matrix.Observation) []Finding {
	out := []Finding{}
	for _, x := range latest {
		f := Finding{Model: rowName(x.Cell), Target: x.Cell.Target, Versions: map[string]string{}}
		for _, name := range []string{"transformers", "torch"} {
			if v := x.Context.Versions[name]; v != "" {
				f.Versions[name] = v
			}
		}
		for _, l := range x.Broken() {
			f.Law, f.Changed = &l, nil
			out = append(out, f)
		}
		if x.Changed != nil && x.Changed.NotComparable == "" {
			f.Law, f.Changed = nil, x.Changed
			out = append(out, f)
		}
	}
	return out
}

func findingsGrid(rows []Finding) grid {
	g := grid{head: []string{"model", "what", "how far", "where", "versions"}, numbers: []int{2}}
	for _, f := range rows {
		what, far, where := f.words()
		var versions []string
		for _, name := range []string{"transformers", "torch"} {
			if v := f.Versions[name]; v != "" {
				versions = append(versions, name+" "+v)
			}
		}
		g.add(matrix.Name(f.Model), what, far, where, strings.Join(versions, ", "))
	}
	return g
}

func (f Finding) words() (what, far, where string) {
	if l := f.Law; l != nil {
		return "breaks the law of " + l.Name, magnitude(l.MaxRel), strings.Join(nonEmpty(l.Output, l.Why), "; ")
	}
	return "changed since " + f.Changed.Since, magnitude(f.Changed.By), strings.Join(nonEmpty(f.Changed.Output, f.Changed.Sample), "; ")
}

func magnitude(x *float64) string {
	if x == nil {
		return "other outputs"
	}
	return fmt.Sprintf("%.2g", *x)
}

func nonEmpty(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

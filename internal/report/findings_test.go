package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// TestFindings: broken laws and changed answers have a table of their own in
// every form, and a matrix without any has none.
func TestFindings(t *testing.T) {
	t.Parallel()
	far, by := 0.28, 0.031
	observed := func(name string, change func(*cell.Result)) matrix.Observation {
		r := cell.Result{
			Cell:    cell.Cell{Type: name, Platform: platform.CPU, Target: "cpu", Size: cell.Tiny, DType: platform.FP32, Batch: 1},
			Verdict: cell.Works, Evidence: cell.Measured, StartedAt: time.Unix(1, 0),
			Context: cell.Context{Versions: map[string]string{"transformers": "5.22.2", "torch": "2.15.0"}},
		}
		change(&r)
		return matrix.Observation{Result: r, Host: "h"}
	}
	plain := observed("vit", func(*cell.Result) {})
	all := []matrix.Observation{
		plain,
		observed("aimv2", func(r *cell.Result) {
			r.Laws = []cell.Law{{Name: "padding", Status: cell.LawBroken, MaxRel: &far, Output: "text_embeds"}, {Name: "batch", Status: cell.LawHolds}}
		}),
		observed("bert", func(r *cell.Result) {
			r.Changed = &cell.Changed{Since: "transformers 5.17.0", By: &by, Output: "logits", Sample: "first"}
		}),
		observed("t5", func(r *cell.Result) {
			r.Changed = &cell.Changed{Since: "transformers 5.17.0", NotComparable: "other names"}
		}),
	}
	for _, format := range []Format{Text, Markdown, HTML} {
		text := func(list []matrix.Observation) string {
			var b bytes.Buffer
			for _, w := range writers {
				if w.format == format {
					if err := w.write(&b, NewDocument(list, Options{Now: time.Unix(2, 0)})); err != nil {
						t.Fatal(err)
					}
				}
			}
			return b.String()
		}
		got := text(all)
		for _, want := range []string{"Findings", "breaks the law of padding", "0.28", "changed since transformers 5.17.0", "0.031"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", format, want, got)
			}
		}
		if strings.Contains(got, "other names") || strings.Contains(text([]matrix.Observation{plain}), "Findings") {
			t.Errorf("%s has findings that are none", format)
		}
	}
}

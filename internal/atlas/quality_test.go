package atlas

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"

	"github.com/andybalholm/brotli"
)

// counted is an atlas of ten types on cuda and qnn, of which some are known on cuda and for some no recipe is.
func counted(known, without int) Atlas {
	cuda, qnn := Column{"cuda", platform.FP32}, Column{"qnn", platform.FP16}
	a := Atlas{Transformers: "5.22.2", Columns: []Column{cuda, qnn}}
	for i := range 10 {
		row := Row{Type: fmt.Sprint("type", i), Claims: []Claim{Unknown(cuda, "no run is published"), Unknown(qnn, "no run is published")}}
		switch {
		case i < known:
			row.Claims[0] = Claim{Column: cuda, Verdict: cell.Fails, Evidence: cell.Measured, Of: "x", Class: cell.Crash, Versions: map[string]string{"torch": "2"}, Run: &Run{ID: "a"}, At: noon}
			row.Claims[1].Note = NoRecipe + "and yet it ran on cuda"
		case i >= 10-without:
			row.Claims[0].Note, row.Claims[1].Note = NoRecipe+"it is a component", NoRecipe+"it is a component"
		}
		a.Rows = append(a.Rows, row)
	}
	return a
}

// Unknown is no answer, whatever its reason. What nobody knows how to run cannot be planned.
func TestQuality(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		known, without, planned int
		cuda                    string
	}{
		{10, 0, 10, "measured 100.0 % (10 of 10)"},
		{9, 0, 10, "measured 90.0 % (9 of 10), unknown 10.0 % (1 of 10)"},
		{8, 0, 10, "incomplete, 8 of 10"},
		{8, 2, 8, "measured 80.0 % (8 of 10), unknown 20.0 % (2 of 10)"},
		{5, 2, 8, "incomplete, 5 of 8"},
		{0, 9, 1, "incomplete, 0 of 1"},
		{0, 10, 0, "incomplete, 0 of 0"},
	} {
		q, err := book(t, counted(x.known, x.without)).Quality()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range q.Platforms {
			want, answered := fmt.Sprintf("incomplete, 0 of %d", x.planned), 0
			if p.Platform == platform.CUDA {
				want, answered = x.cuda, x.known
			}
			if p.String() != want || p.Planned != x.planned || p.Answered != answered || q.NoRecipe != x.without {
				t.Errorf("%d known, %d without a recipe, %s: %q, want %q; %+v", x.known, x.without, p.Platform, p, want, p)
			}
		}
		var text strings.Builder
		if err := q.WriteText(&text, noon); err != nil || !strings.Contains(text.String(), fmt.Sprintf("For %d types no recipe", x.without)) {
			t.Errorf("%v: %s", err, &text)
		}
	}
}

// An atlas that was made elsewhere must give the reason of what is unknown, too.
func TestUnknownHasItsReason(t *testing.T) {
	t.Parallel()
	for reasons, ok := range map[string]bool{`["nobody tried"]`: true, `[""]`: false, `[]`: false} {
		var file bytes.Buffer
		w := brotli.NewWriter(&file)
		fmt.Fprintf(w, `{"schema":%d,"columns":[{"target":"cuda","dtype":"fp32"}],"reasons":%s}`+"\n"+`{"type":"bert","claims":[{"why":%d}]}`+"\n", Schema, reasons, min(1, len(reasons)-2))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := Open(&file)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := b.Quality(); (err == nil) != ok || ok && q.Claims != 1 {
			t.Errorf("%s: %+v, %v", reasons, q, err)
		}
	}
}

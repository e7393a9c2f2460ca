package atlas

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// sample is a small atlas: bert works on cuda in fp32, vit fails on qnn.
func sample() Atlas {
	off := 1.5e-6
	run := &Run{ID: "20261117T120000Z-aaaaaa", Assay: "abc1234", Host: Host{ID: "h", CPU: "a CPU", Devices: []string{"a GPU"}}}
	with := map[string]string{"torch": "2.11.0", "transformers": "5.22.2"}
	cuda, half, qnn := Column{"cuda", platform.FP32}, Column{"cuda", platform.FP16}, Column{"qnn", platform.FP16}
	return Atlas{
		Transformers: "5.22.2", Columns: []Column{cuda, half, qnn},
		Rows: []Row{
			{"bert", []Claim{
				{Column: cuda, Verdict: cell.Works, Evidence: cell.Measured, Of: "bert, tiny, random weights", Placement: map[string]int{"cuda:0": 70},
					Error: &off, Tolerance: 1e-5, Versions: with, Run: run, At: noon},
				{Column: half, Verdict: cell.Fails, Evidence: cell.Measured, Of: "bert, tiny, random weights", Class: cell.WrongOutput, Detail: "off by 0.3",
					Versions: with, Run: run, At: noon},
				{Column: qnn, Verdict: cell.Partial, Evidence: cell.Emulated, Of: "bert, tiny, random weights", Note: "1 operation ran on cpu",
					Placement: map[string]int{"cpu": 1, "sm8650": 9}, LeftOver: map[string]int{"GridSample": 1}, Versions: with, Run: run, At: noon},
			}},
			{"vit", []Claim{
				Unknown(cuda, "no run is published"), Unknown(half, "no run is published"),
				{Column: qnn, Verdict: cell.Fails, Evidence: cell.Emulated, Of: "vit, tiny, random weights", Class: cell.Crash, Detail: "it died", Versions: with, Run: run, At: noon},
			}},
		},
	}
}

func book(t testing.TB, a Atlas) *Book {
	t.Helper()
	file, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What was written is what is read.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	a := sample()
	b := book(t, a)
	for _, row := range a.Rows {
		got, err := b.Claims(row.Type)
		if diff := cmp.Diff(row.Claims, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", row.Type, err, diff)
		}
	}
	none, err := b.Claims("t5")
	if err != nil || len(none) != 3 || none[0].Known() || none[0].Note == "" {
		t.Errorf("a type that it does not have: %+v, %v", none, err)
	}
}

// A claim without a run behind it is not written.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		damage func(c *Claim)
		want   string
	}{
		"no run":          {func(c *Claim) { c.Run = nil }, "no run"},
		"no versions":     {func(c *Claim) { c.Versions = nil }, "no run with a day and versions"},
		"no day":          {func(c *Claim) { c.At = time.Time{} }, "no run with a day"},
		"another column":  {func(c *Claim) { c.Target = "rocm" }, "column of cuda"},
		"a strange word":  {func(c *Claim) { c.Verdict = "perfect" }, "unknown verdict"},
		"strange proof":   {func(c *Claim) { c.Evidence = "hearsay" }, "unknown evidence"},
		"no reason":       {func(c *Claim) { *c = Unknown(c.Column, "") }, "for no reason"},
		"unknown, proved": {func(c *Claim) { c.Verdict, c.Note = cell.Unknown, "x" }, "has evidence"},
	} {
		a := sample()
		x.damage(&a.Rows[0].Claims[0])
		if _, err := a.Encode(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	a := sample()
	a.Rows[1].Claims = a.Rows[1].Claims[:2]
	if _, err := a.Encode(); err == nil {
		t.Error("a type with too few claims was written")
	}
}

// A file that ends anywhere before its end is not an atlas.
func TestHalf(t *testing.T) {
	t.Parallel()
	file, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for n := range file {
		if _, err := Open(bytes.NewReader(file[:n])); err == nil {
			t.Errorf("%d of %d bytes were taken for all", n, len(file))
		}
	}
}

// The embedded atlas has a claim for every type of the catalogue on every
// platform, each with a run or a reason, and is small.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	covered, known := map[platform.Name]bool{}, 0
	for _, c := range b.Columns() {
		target, err := platform.ParseTarget(c.Target)
		if err != nil {
			t.Fatal(err)
		}
		covered[target.Platform] = true
	}
	if len(covered) != len(platform.Names()) {
		t.Errorf("it covers %v", covered)
	}
	if b.Types() != len(cat.Types()) {
		t.Errorf("it has %d types, the catalogue %d", b.Types(), len(cat.Types()))
	}
	for _, e := range cat.Types() {
		claims, err := b.Claims(e.Type)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range claims {
			if err := c.check(b.Columns()[i]); err != nil || c.Note == "the atlas does not have this type" {
				t.Errorf("%s: %v %+v", e.Type, err, c)
			}
			if c.Known() {
				known++
			}
		}
	}
	if known < 3000 || len(embedded) > Most {
		t.Errorf("%d claims in %d bytes", known, len(embedded))
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		book, err := Open(bytes.NewReader(embedded))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := book.Claims("bert"); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	file, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, b []byte) {
		book, err := Open(bytes.NewReader(b))
		if err != nil {
			return
		}
		for name := range book.lines {
			if claims, err := book.Claims(name); err == nil && len(claims) != len(book.Columns()) {
				t.Errorf("%d claims", len(claims))
			}
		}
	})
}

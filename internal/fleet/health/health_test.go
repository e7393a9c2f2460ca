package health

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/platform"
)

func offers(t *testing.T, names ...string) fleet.Announcement {
	t.Helper()
	var a fleet.Announcement
	for _, name := range names {
		target, err := platform.ParseTarget(name)
		if err != nil {
			t.Fatal(err)
		}
		a.Offers = append(a.Offers, fleet.Offer{Target: target})
	}
	return a
}

func TestCells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ offers, want string }{
		{"cpu/noop", "cpu/noop"},
		{"cpu/noop cuda cpu", "cpu cuda"},
		{"webgpu@firefox cpu cpu/onnxruntime cpu", "cpu webgpu@firefox cpu/onnxruntime"},
	} {
		var got []string
		for _, c := range Cells(offers(t, strings.Fields(c.offers)...)) {
			got = append(got, c.Target)
			if err := c.Validate(); err != nil {
				t.Error(err)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", c.offers, got)
		}
	}
}

// good is what a right worker answers on the processor.
func good(t *testing.T, known *Answer) cell.Result {
	t.Helper()
	b, err := json.Marshal(known.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	var copied cell.Fingerprint
	if err := json.Unmarshal(b, &copied); err != nil {
		t.Fatal(err)
	}
	c := Cells(offers(t, "cpu"))[0]
	return cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, SubjectHash: known.Subject, Fingerprint: &copied,
		Numerics: &cell.Numerics{Pass: true, Control: &cell.Control{Pass: true}}}
}

// TestCheck: what a right worker answers passes, and every fault is seen.
func TestCheck(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	known, _ := cat.Fingerprint(Subject, "")
	if known == nil {
		t.Fatal("the catalogue has no fingerprint of the health cell's model")
	}
	cells := Cells(offers(t, "cpu"))
	for _, c := range []struct {
		name   string
		damage func(r *cell.Result)
		says   string
	}{
		{"right", func(*cell.Result) {}, ""},
		{"one number is off", func(r *cell.Result) { bend(r.Fingerprint, 1e-3) }, "not the known one"},
		{"roundings", func(r *cell.Result) { bend(r.Fingerprint, 1e-7) }, ""},
		{"another release", func(r *cell.Result) { r.SubjectHash = "other"; bend(r.Fingerprint, 1) }, ""},
		{"no fingerprint", func(r *cell.Result) { r.Fingerprint = nil }, "no fingerprint"},
		{"wrong numbers", func(r *cell.Result) { r.Numerics.Pass = false }, "wrong"},
		{"not compared", func(r *cell.Result) { r.Numerics = nil }, "not compared"},
		{"blind", func(r *cell.Result) { r.Numerics.Control = nil }, "damaged"},
		{"elsewhere", func(r *cell.Result) { r.Actual = &cell.Settings{Target: "cuda"} }, "it ran on cuda"},
		{"failed", func(r *cell.Result) {
			r.Verdict, r.Failure = cell.Fails, &cell.Failure{Class: cell.Driver, Detail: "no driver"}
		}, "driver: no driver"},
		{"unavailable", func(r *cell.Result) { r.Verdict = cell.Unavailable }, "unavailable"},
		{"another cell", func(r *cell.Result) { r.Cell = cell.Cell{Type: "vit"}.Normal() }, "no result"},
	} {
		r := good(t, known)
		c.damage(&r)
		err := Check(cells, []cell.Result{r}, known)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	if err := Check(cells, nil, known); err == nil {
		t.Error("no result at all passes")
	}
}

// bend moves one product of a fingerprint.
func bend(f *cell.Fingerprint, by float64) {
	for _, outputs := range f.Samples {
		for _, row := range outputs {
			row[1] += by
			return
		}
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	for good, want := range map[time.Time]bool{
		{}: true, now.Add(-time.Minute): false, now.Add(-30 * time.Minute): true, now.Add(time.Hour): true,
	} {
		if Due(good, now) != want {
			t.Errorf("good at %v: %v", good, !want)
		}
	}
}

// timed is a result with six repeats around a median.
func timed(worker string, median, noise float64, rng *rand.Rand) Sample {
	s := Sample{Worker: worker, Host: cell.Host{ID: "alike"}}
	s.Result = cell.Result{Cell: cell.Cell{Type: "bert"}.Normal(), SubjectHash: "s", Verdict: cell.Works, Evidence: cell.Measured, Latency: &cell.Latency{}}
	for range 6 {
		m := median * (1 + noise*rng.NormFloat64())
		s.Result.Latency.SamplesMS = append(s.Result.Latency.SamplesMS, []float64{m, m * 1.001, m * 0.999})
	}
	return s
}

func TestSlowMachineIsFound(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	fleet := []Sample{timed("a", 10, 0.01, rng), timed("b", 10.2, 0.01, rng), timed("c", 9.9, 0.01, rng)}
	if got := Outliers(append(fleet, timed("d", 10.1, 0.01, rng))); len(got) != 0 {
		t.Errorf("of equals: %v", got)
	}
	got := Outliers(append(fleet, timed("d", 16, 0.01, rng)))
	if len(got) != 1 || got[0].Worker != "d" || got[0].Others != 3 || got[0].Why != "bert is 1.59 times slower there than on 3 machines of the same kind" {
		t.Errorf("%+v", got)
	}
	other := timed("d", 16, 0.01, rng)
	other.Host.ID = "another machine"
	if got := Outliers(append(fleet, other)); len(got) != 0 {
		t.Errorf("a machine of another kind is compared: %v", got)
	}
	if got := Outliers([]Sample{timed("a", 10, 0.01, rng), timed("b", 20, 0.01, rng)}); len(got) != 0 {
		t.Errorf("of two, nobody knows which is wrong: %v", got)
	}
}

// TestFewFalseAlarms: machines that differ by a few percent, as real ones do, are left in peace.
func TestFewFalseAlarms(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 2))
	flagged := 0
	for range 300 {
		var fleet []Sample
		for _, w := range []string{"a", "b", "c", "d", "e"} {
			fleet = append(fleet, timed(w, 10*(1+0.04*rng.NormFloat64()), 0.02, rng))
		}
		flagged += len(Outliers(fleet))
	}
	if flagged > 3 {
		t.Errorf("%d of 1500 were flagged", flagged)
	}
}

func TestVerdictsThatStandAlone(t *testing.T) {
	t.Parallel()
	sample := func(worker string, v cell.Verdict) Sample {
		s := Sample{Worker: worker, Host: cell.Host{ID: "alike"}, Result: cell.Result{Cell: cell.Cell{Type: "bert"}.Normal(), Verdict: v, Evidence: cell.Measured}}
		if v == cell.Fails {
			s.Result.Failure = &cell.Failure{Class: cell.WrongOutput}
		}
		return s
	}
	got := Outliers([]Sample{sample("a", cell.Works), sample("b", cell.Fails), sample("c", cell.Works)})
	if len(got) != 1 || got[0].Worker != "b" || !strings.Contains(got[0].Why, "fails there and works on 2") {
		t.Errorf("%+v", got)
	}
	broke := sample("b", cell.Fails)
	broke.Result.Failure.Class = cell.Environment
	if got := Outliers([]Sample{sample("a", cell.Works), broke, sample("c", cell.Works)}); len(got) != 0 {
		t.Errorf("a broken machine says nothing about the model: %v", got)
	}
}

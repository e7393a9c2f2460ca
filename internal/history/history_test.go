package history

import (
	"context"
	"errors"
	"os"
	"testing"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/matrix"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestNothing: an empty store answers every question with nothing, and no
// database is made for it.
func TestNothing(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	ctx, plan := t.Context(), cell.Plan{Cells: []cell.Cell{cell.Cell{Type: "bert"}.Normal()}}
	cpu, _ := platform.Get(platform.CPU)
	seen, hosts, err := h.Observations(ctx)
	of, errOf := h.OfType(ctx, "bert")
	latest, errLatest := h.Latest(ctx, host, plan)
	times, errTimes := h.Times(ctx, host, plan)
	run, errRun := h.OutcomesOfRun(ctx, "a")
	verdicts, errVerdicts := h.UsualVerdicts(ctx, cpu)
	must(t, errors.Join(err, errOf, errLatest, errTimes, errRun, errVerdicts))
	if n := len(seen) + len(hosts) + len(of) + len(latest) + len(times) + len(verdicts); n != 0 || run != nil {
		t.Errorf("an empty store knows %d things, and of a run %v", n, run)
	}
	if _, err := os.Stat(h.store.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a question made the database: %v", err)
	}
}

// TestObservations: a tiny result is its type's, whatever checkpoint was named;
// samples, hosts and what was imported come along.
func TestObservations(t *testing.T) {
	t.Parallel()
	h, far := newHistory(t), newHistory(t)
	write(t, h, "a", host,
		result(cell.Cell{Type: "bert"}, 0, timed(2)),
		result(cell.Cell{Type: "bert", Checkpoint: "a/b"}, 1),
		result(cell.Cell{Type: "bert", Checkpoint: "a/b", Size: cell.Full}, 2),
		result(cell.Cell{Type: "vit"}, 3))
	write(t, far, "b", host, result(cell.Cell{Type: "t5"}, 4))
	if _, err := journal.Import(t.Context(), journal.Path(far.store.Journals(), "b"), h.store.Journals(), journal.Here{}); err != nil {
		t.Fatal(err)
	}
	all, hosts, err := h.Observations(t.Context())
	must(t, err)
	if len(all) != 5 || len(hosts) != 2 || !all[0].Imported || all[0].Host != "imported:"+host || all[4].Host != host || len(all[4].Latency.SamplesMS) != 1 {
		t.Errorf("%d observations of %d hosts: %+v", len(all), len(hosts), all)
	}
	for name, tc := range map[string]struct {
		rows []matrix.Model
		want []string
	}{
		"type":       {[]matrix.Model{{Type: "bert"}}, []string{"bert tiny", "bert tiny"}},
		"checkpoint": {[]matrix.Model{{Type: "bert", Checkpoint: "a/b"}}, []string{"bert full"}},
		"both":       {[]matrix.Model{{Type: "bert", Family: "encoder-only"}, {Type: "vit"}}, []string{"vit tiny", "bert tiny", "bert tiny"}},
		"none":       {nil, nil},
		"never run":  {[]matrix.Model{{Type: "clip"}}, nil},
	} {
		got, _, err := h.ObservationsOf(t.Context(), tc.rows)
		must(t, err)
		var said []string
		for _, x := range got {
			said = append(said, x.Cell.Type+" "+x.Cell.Size)
		}
		if d := cmp.Diff(tc.want, said); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	of, err := h.OfType(t.Context(), "t5")
	if err != nil || len(of) != 1 || !of[0].Imported || of[0].Cell.Type != "t5" {
		t.Errorf("%v: %+v", err, of)
	}
}

// TestTimes: those of this host that can be compared, and no others.
func TestTimes(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	c := cell.Cell{Type: "bert"}
	write(t, h, "a", host,
		result(c, 0, timed(5)),
		result(c, 1, timed(6), func(r *cell.Result) { r.Latency.Stable = false }),
		result(c, 2),
		result(c, 3, timed(1), func(r *cell.Result) { r.Latency.Sync = "host-dispatch only" }),
		result(c, 4, timed(2), failing(cell.Crash)),
		result(c, 5, timed(3), func(r *cell.Result) { r.SubjectHash = "" }),
		result(c, 6, timed(4), func(r *cell.Result) { r.Evidence = cell.Emulated }),
		result(cell.Cell{Type: "bert", Target: "openvino", Special: cell.Special{Scenario: cell.ForThroughput}}, 7, timed(1)),
		result(cell.Cell{Type: "vit"}, 8, timed(1)))
	write(t, h, "b", "h-2", result(c, 9, timed(9)))
	plan := cell.Plan{Cells: []cell.Cell{{Type: "bert", Target: "cuda"}, {Type: "bert"}}}
	got, err := h.Times(t.Context(), host, plan)
	must(t, err)
	want := []cell.Time{{Cell: c.Normal(), Subject: "5ab1ec7", MedianMS: 6, Unstable: true}, {Cell: c.Normal(), Subject: "5ab1ec7", MedianMS: 5, Unstable: false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Times(ctx, host, plan); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped program goes on reading: %v", err)
	}
}

// TestOutcomes: of a run, and of a release of transformers, the newest of each cell.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	older := func(r *cell.Result) { r.Context.Versions = map[string]string{"transformers": "5.0.0"} }
	write(t, h, "a", host, result(cell.Cell{Type: "bert"}, 0), result(cell.Cell{Type: "bert"}, 1, failing(cell.ModelError)), result(cell.Cell{Type: "vit"}, 2, older))
	write(t, h, "b", host, result(cell.Cell{Type: "t5"}, 3))
	for name, tc := range map[string]struct {
		run, release string
		want         []string
	}{
		"run":           {"a", "", []string{"bert fails", "vit works"}},
		"other run":     {"b", "", []string{"t5 works"}},
		"no run":        {"c", "", nil},
		"release":       {"", "5.22.2", []string{"bert fails", "t5 works"}},
		"older release": {"", "5.0.0", []string{"vit works"}},
		"no release":    {"", "4.51.3", nil},
	} {
		ask := func(ctx context.Context) ([]string, error) {
			outcomes, err := h.OutcomesOfRun(ctx, tc.run)
			if tc.release != "" {
				outcomes, err = h.OutcomesOfRelease(ctx, tc.release)
			}
			var out []string
			for _, o := range outcomes {
				out = append(out, o.Type+" "+string(o.Verdict))
			}
			return out, err
		}
		got, err := ask(t.Context())
		must(t, err)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestUsualVerdicts: the newest run with the platform's own engine and dtype.
func TestUsualVerdicts(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	mask := cell.Cell{Type: "bert", Task: "fill-mask"}
	two, other, half := mask, mask, mask
	two.Batch, other.Target, half.DType = 2, "cpu/onnxruntime", platform.BF16
	foreign := cell.Cell{Type: "vit"}
	write(t, h, "a", host,
		result(mask, 0, failing(cell.Crash)), result(mask, 1), result(two, 2, failing(cell.Crash)),
		result(other, 3, failing(cell.Crash)), result(half, 4, failing(cell.Crash)),
		result(mask, 8, func(r *cell.Result) { r.Verdict, r.Evidence = cell.Fails, cell.Derived }),
		result(foreign, 5, func(r *cell.Result) { r.Context.Versions = map[string]string{"torch": "2.15.0"} }),
		result(cell.Cell{Type: "bert", Task: "fill-mask", Size: cell.Full, Checkpoint: "a/b"}, 6, failing(cell.Crash)),
		result(cell.Cell{Type: "bert", Task: "fill-mask", Target: "openvino"}, 7, failing(cell.Crash)))
	cpu, _ := platform.Get(platform.CPU)
	got, err := h.UsualVerdicts(t.Context(), cpu)
	must(t, err)
	want := map[Head]cell.Verdict{{"bert", "fill-mask", 1}: cell.Works, {"bert", "fill-mask", 2}: cell.Fails}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

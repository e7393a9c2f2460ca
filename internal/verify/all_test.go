package verify

import (
	"context"
	"errors"
	"testing"

	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestEach: outcomes come back in the order of the combinations, each is told
// once, and an end of the caller's or of one of them ends all.
func TestEach(t *testing.T) {
	t.Parallel()
	all, err := Combinations([]string{"text", "vision"}, []platform.Name{platform.OpenVINO, platform.CPU})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(_ context.Context, c Combination) (Outcome, error) {
		return Outcome{Pipeline: c.Pipeline, Platform: c.Platform, State: Passed}, nil
	}
	told := 0
	got, err := each(t.Context(), all, 2, verify, func(Outcome) { told++ })
	if err != nil || told != len(all) || len(got) != len(all) {
		t.Fatalf("%d told: %+v, %v", told, got, err)
	}
	for i, o := range got {
		if (Combination{o.Pipeline, o.Platform}) != all[i] {
			t.Errorf("%d is %+v, want %+v", i, o, all[i])
		}
	}
	broken := errors.New("the disk is full")
	if _, err := each(t.Context(), all, 1, func(context.Context, Combination) (Outcome, error) { return Outcome{}, broken }, func(Outcome) {}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	mine := errors.New("interrupted")
	if _, err := each(ctx, all, 1, verify, func(Outcome) { stop(mine) }); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
}

// TestCombinationsInOrder: platforms stand in the order in which they are always
// shown, however they were named.
func TestCombinationsInOrder(t *testing.T) {
	t.Parallel()
	got, err := Combinations([]string{"text"}, []platform.Name{platform.WebNN, platform.CPU, platform.CUDA})
	var on []platform.Name
	for _, c := range got {
		on = append(on, c.Platform)
	}
	if diff := cmp.Diff([]platform.Name{platform.CPU, platform.CUDA, platform.WebNN}, on); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	got := Count([]Outcome{{State: Passed, Mutants: map[string]Mutant{"noise": {NoticedBy: []string{"test_outputs"}}, "nan": {}, "swapped": {Cannot: "one row"}}}, {State: NotHere}})
	want := map[string]int{"passed": 1, "failed": 0, "not-run-here": 1, "tried": 2, "noticed": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

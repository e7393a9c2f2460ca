package verify

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/internal/catalog"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

func TestCombinations(t *testing.T) {
	t.Parallel()
	all, err := Combinations(Pipelines(), platform.Names())
	if err != nil || len(all) != 72 {
		t.Errorf("nine pipelines on eight platforms are %d combinations, %v", len(all), err)
	}
	if _, err := Combinations([]string{"text", "txet"}, platform.Names()); err == nil || !strings.Contains(err.Error(), `"txet"`) {
		t.Errorf("an unknown pipeline: %v", err)
	}
}

// A representative is of the pipeline that it stands for, and runs on the
// platform wherever any model of the pipeline does: of RAG none is a graph, and
// of diffusion none that works on QNN.
func TestRepresentatives(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Combinations(Pipelines(), platform.Names())
	if err != nil {
		t.Fatal(err)
	}
	var never []Combination
	for _, c := range all {
		m, err := Verifier{Catalog: cat}.representative(c)
		if err != nil {
			t.Fatal(err)
		}
		if m.Pipeline != c.Pipeline {
			t.Errorf("%s stands for %s and is of %s", m.Type, c.Pipeline, m.Pipeline)
		}
		if !m.RunsOn(c.Platform) {
			never = append(never, c)
		}
	}
	want := []Combination{{"diffusion", platform.QNN}, {"rag", platform.OpenVINO}, {"rag", platform.QNN}, {"rag", platform.WebNN}, {"rag", platform.WebGPU}}
	if diff := cmp.Diff(want, never); diff != "" {
		t.Error(diff)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	noticed, missed := Mutant{NoticedBy: []string{"test_batch"}}, Mutant{}
	impossible := Mutant{Cannot: "the platform is the CPU"}
	for _, tt := range []struct {
		name           string
		o              Outcome
		state          State
		why            string
		tried, noticed int
	}{
		{"all noticed", Outcome{Passed: []string{"a"}, Mutants: map[string]Mutant{"x": noticed, "y": impossible}}, Passed, "", 1, 1},
		{"one not noticed", Outcome{Passed: []string{"a"}, Mutants: map[string]Mutant{"x": noticed, "y": missed, "w": missed}}, Failed, "not noticed: w, y", 3, 1},
		{"red as it is", Outcome{Passed: []string{"a"}, Failed: map[string]string{"b": "no", "a": "never"}}, Failed, "a: never", 0, 0},
		{"red counts before skipped", Outcome{Skipped: map[string]string{"c": "why"}, Failed: map[string]string{"b": "no"}}, Failed, "b: no", 0, 0},
		{"not here", Outcome{Skipped: map[string]string{"a": "Skipped: cuda: none", "b": "Skipped: cuda: none", "c": "other"}}, NotHere, "cuda: none", 0, 0},
		{"nothing found", Outcome{}, Failed, "no test was found", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.o.judge()
			tried, noticed := tt.o.Tried()
			got := []any{tt.o.State, tt.o.Why, tried, noticed}
			if diff := cmp.Diff([]any{tt.state, tt.why, tt.tried, tt.noticed}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A limit makes a combination fail; whoever stops the whole gets that as error.
func TestLate(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	sleeps := func(ctx context.Context, _ ...string) *exec.Cmd { return exec.CommandContext(ctx, "sleep", "30") }
	v := Verifier{Catalog: cat, Python: sleeps, Program: "assay", Limit: 50 * time.Millisecond}
	o, err := v.Verify(t.Context(), Combination{"text", platform.CPU})
	if err != nil || o.State != Failed || !strings.Contains(o.Why, "longer than 50ms") {
		t.Errorf("after its limit: %+v, %v", o, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	v.Limit = time.Minute
	if _, err := v.Verify(stopped, Combination{"text", platform.CPU}); !errors.Is(err, context.Canceled) {
		t.Errorf("after it was stopped: %v", err)
	}
}

// What a linter or a compiler refuses fails before anything is run.
func TestRefused(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var asked [][]string
	refuses := func(ctx context.Context, args ...string) *exec.Cmd {
		asked = append(asked, args)
		return exec.CommandContext(ctx, "sh", "-c", "echo line 7 is wrong; exit 1")
	}
	v := Verifier{Catalog: cat, Python: refuses, Program: "assay", Limit: time.Minute}
	o, err := v.Verify(t.Context(), Combination{"text", platform.CPU})
	if err != nil || o.State != Failed || !strings.Contains(o.Why, "line 7 is wrong") || len(asked) != 1 {
		t.Errorf("%+v after %v, %v", o, asked, err)
	}
}

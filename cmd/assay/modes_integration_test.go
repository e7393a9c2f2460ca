//go:build integration

package main

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/measure"
)

// TestIntegrationGenerates: every token's time and id comes from torch and from
// OpenVINO into the result, and the numbers are those of the definitions.
func TestIntegrationGenerates(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	args := []string{"bench", "--quick", "--repeats", "2", "llama", "--mode", "generate", "--tokens", "5", "--prompt", "8", "--platform"}
	for _, where := range [][]string{{"cpu"}, {"cpu", "--cache", "static"}, {"openvino"}} {
		r := p.report(t, exitOK, append(args, where...)...).Results[0]
		g := r.Generation
		if r.Verdict != cell.Works || g == nil || g.TTFT == nil || g.TPOT == nil || g.Between == nil || g.TokensPerS == nil {
			t.Fatalf("%v: %s, %+v, %+v", where, r.Verdict, g, r.Failure)
		}
		if g.PromptTokens != 8 || g.NewTokens != 5 || len(g.IDs) != 1 || len(g.IDs[0]) != 5 || g.Strayed != 0 || *g.AgreedTokens != 5 {
			t.Errorf("%v: %+v", where, g)
		}
		for i, repeat := range g.StreamsMS {
			if len(repeat) != len(r.Latency.SamplesMS[i]) {
				t.Errorf("%v: %d generations, %d samples", where, len(repeat), len(r.Latency.SamplesMS[i]))
			}
			for j, stream := range repeat {
				if err := measure.Stream(stream).Check(5); err != nil || stream[4] > r.Latency.SamplesMS[i][j] {
					t.Errorf("%v: %v in a sample of %g ms: %v", where, stream, r.Latency.SamplesMS[i][j], err)
				}
			}
		}
		if g.Between.N != 4*g.TTFT.N || len(g.StreamsMS) != 2 {
			t.Errorf("%v: %d times between the tokens of %d generations in %d repeats", where, g.Between.N, g.TTFT.N, len(g.StreamsMS))
		}
	}
}

// benched are the results of different cells, each timed in two short repeats by
// one program: starting it takes longer than most cells.
func (p *program) benched(t *testing.T, cells []cell.Cell) []cell.Result {
	t.Helper()
	plan := p.write(t, "plan.json", cell.Plan{Cells: cells})
	results := p.report(t, exitOK, "bench", "--quick", "--repeats", "2", "--plan", plan).Results
	hashes := map[string]bool{}
	for _, r := range results {
		hashes[r.Cell.Hash] = true
	}
	if len(results) != len(cells) || len(hashes) != len(cells) {
		t.Fatalf("%d results of %d different cells, want %d", len(results), len(hashes), len(cells))
	}
	return results
}

// TestIntegrationTrains: what a check saw of gradients, and what the parts of a
// step took, come into one result.
func TestIntegrationTrains(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	var cells []cell.Cell
	for _, s := range []cell.Special{{}, {Optimizer: "sgd", Activations: cell.Recomputed}, {Mixed: "bf16"}, {Adapters: cell.LoRA}} {
		cells = append(cells, cell.Cell{Type: "bert", Platform: "cpu", Mode: cell.Train, Special: s})
	}
	for _, r := range p.benched(t, cells) {
		more := r.Cell.Words()
		if r.Verdict != cell.Works || r.Training == nil || r.Training.Gradients == nil || !r.Training.Gradients.Pass {
			t.Fatalf("%v: %s, %+v, %+v", more, r.Verdict, r.Training, r.Failure)
		}
		if c := r.Numerics.Control; c == nil || c.Kind != "frozen" || !c.Pass {
			t.Errorf("%v: the control is %+v", more, c)
		}
		for _, part := range []string{"forward", "backward", "step"} {
			if s := r.Training.Parts[part]; s.Median <= 0 || s.N == 0 {
				t.Errorf("%v: %s took %+v", more, part, s)
			}
		}
		if r.Throughput == nil || r.Throughput.Value <= 0 {
			t.Errorf("%v: no samples a second", more)
		}
	}
}

// TestIntegrationPipelines: raw text, images and audio become answers, and what
// processors and the model took comes into the result apart.
func TestIntegrationPipelines(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	rep := p.report(t, exitOK, "bench", "--quick", "--repeats", "2", "bert", "vit", "whisper", "--mode", "pipeline", "--platform", "cpu")
	for _, r := range rep.Results {
		if r.Verdict != cell.Works || r.Pipeline == nil || r.Numerics == nil || len(r.Numerics.Around) < 2 {
			t.Fatalf("%s: %s, %s, %+v, %+v", r.Cell.Type, r.Verdict, r.Note, r.Pipeline, r.Failure)
		}
		sum := 0.0
		for _, part := range []string{"preprocess", "model", "postprocess"} {
			s := r.Pipeline.Parts[part]
			if s.Median <= 0 || s.N == 0 {
				t.Errorf("%s: %s took %+v", r.Cell.Type, part, s)
			}
			sum += s.Median
		}
		if least := r.Latency.MinMS; sum < least/3 {
			t.Errorf("%s: its parts take %g ms in all, a whole request %g at least", r.Cell.Type, sum, least)
		}
	}
}

// TestIntegrationScenarios: several requests in flight, and models that are
// timed at the same time, on torch and on a graph's engine.
func TestIntegrationScenarios(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	for _, r := range p.report(t, exitOK, "bench", "--quick", "--repeats", "1", "bert", "--scenario", "throughput", "--platform", "cpu,cpu/onnxruntime").Results {
		if r.Verdict != cell.Works || r.Throughput == nil || r.Throughput.Value <= 0 {
			t.Errorf("%s: %s, %+v, %+v", r.Cell.Target, r.Verdict, r.Throughput, r.Failure)
		}
	}
	results := p.report(t, exitOK, "bench", "--quick", "--repeats", "1", "bert", "vit", "--scenario", "concurrent", "--platform", "cpu").Results
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		if i := r.Interference; r.Verdict != cell.Works || i == nil || i.Ratio <= 0 || i.AloneMS <= 0 || len(i.Beside) != 1 {
			t.Errorf("%s: %s, %+v, %+v", r.Cell.Type, r.Verdict, i, r.Failure)
		}
	}
}

// TestIntegrationRanks: two processes on the processor train a model as one
// does, and share its layers.
func TestIntegrationRanks(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	for _, args := range [][]string{{"--mode", "train", "--parallel", "ddp", "--batch", "2"}, {"--parallel", "tp"}} {
		r := p.report(t, exitOK, append([]string{"test", "llama", "--procs", "2", "--platform", "cpu"}, args...)...).Results[0]
		if k := r.Ranks; r.Verdict != cell.Works || k == nil || k.Procs != 2 || k.Backend != "gloo" || r.Numerics.Control == nil || !r.Numerics.Control.Pass {
			t.Errorf("%v: %s, %+v, %+v, %s", args, r.Verdict, r.Ranks, r.Failure, r.Note)
		}
	}
}

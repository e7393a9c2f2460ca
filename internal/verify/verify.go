// Package verify shows that generated tests are worth something: for each
// pipeline on each platform it generates the test of a representative model,
// compiles and lints it, runs it where the platform is here, and then breaks
// the model in eight ways. A test that is still green with a broken model has
// not asked the right question.
//
// A Combination is a pipeline on a platform; a Verifier runs
// combinations, each in its own folder that is gone afterwards, and returns an
// Outcome for each. What is broken, and how, is in mutants.py, which runs in the
// Python environment; nothing is known about a platform here that the generated
// file does not know itself.
package verify

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/generate/tests"
	"assay/internal/platform"
)

//go:embed mutants.py
var mutants []byte

// representatives are the models by which pipelines are verified, in the order
// in which pipelines are always shown. The first that a platform can hold
// stands for the pipeline there: what is several calls is not a graph.
var representatives = []struct {
	pipeline string
	models   []candidate
}{
	{"text", []candidate{{name: "bert"}}},
	{"vision", []candidate{{name: "vit"}}},
	{"vision-text", []candidate{{name: "clip"}}},
	{"audio", []candidate{{name: "wav2vec2"}}},
	{"multimodal", []candidate{{name: "qwen2_5_omni_thinker"}}},
	// The HTP's emulator reads out of bounds in what diffusion_gemma gathers.
	{"diffusion", []candidate{{name: "stable-diffusion"}, {"diffusion_gemma", []platform.Name{platform.QNN}}}},
	{"mixture-of-experts", []candidate{{name: "granitemoe"}}},
	{"state-space", []candidate{{name: "mamba"}}},
	{"rag", []candidate{{name: "rag"}}},
}

// candidate is a model, and the platforms that are known to fail it.
type candidate struct {
	name   string
	except []platform.Name
}

// Pipelines lists the nine pipelines.
func Pipelines() []string {
	names := make([]string, len(representatives))
	for i, r := range representatives {
		names[i] = r.pipeline
	}
	return names
}

// Combination is a pipeline on a platform.
type Combination struct {
	Pipeline string
	Platform platform.Name
}

// Combinations are all pairs of pipelines and platforms, pipeline by pipeline,
// platforms in the order in which they are always shown.
func Combinations(pipelines []string, platforms []platform.Name) ([]Combination, error) {
	var all []Combination
	for _, p := range pipelines {
		if !slices.Contains(Pipelines(), p) {
			return nil, fmt.Errorf("unknown pipeline %q: the pipelines are %s", p, strings.Join(Pipelines(), ", "))
		}
		for _, n := range platform.Names() {
			if slices.Contains(platforms, n) {
				all = append(all, Combination{p, n})
			}
		}
	}
	return all, nil
}

// State is what became of a combination.
type State string

// The states of a combination.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	NotHere State = "not-run-here"
)

// Outcome is what was found of a combination.
type Outcome struct {
	Pipeline string            `json:"pipeline"`
	Platform platform.Name     `json:"platform"`
	Model    string            `json:"model"`
	State    State             `json:"state"`
	Why      string            `json:"why,omitempty"` // where it did not pass
	Passed   []string          `json:"passed"`
	Skipped  map[string]string `json:"skipped"` // with reasons
	Failed   map[string]string `json:"failed"`  // with errors
	Mutants  map[string]Mutant `json:"mutants"`
	Seconds  float64           `json:"seconds"`
}

// Mutant is one way to break a model: the tests that noticed it, or why it
// cannot be tried there.
type Mutant struct {
	NoticedBy []string `json:"noticed_by"`
	Cannot    string   `json:"cannot,omitempty"`
}

// Tried returns how many mutants were tried, and how many were noticed.
func (o Outcome) Tried() (tried, noticed int) {
	for _, m := range o.Mutants {
		if m.Cannot != "" {
			continue
		}
		tried++
		if len(m.NoticedBy) > 0 {
			noticed++
		}
	}
	return tried, noticed
}

// Verifier carries combinations out.
type Verifier struct {
	Catalog *catalog.Catalog
	// Python starts the environment's Python.
	Python func(ctx context.Context, args ...string) *exec.Cmd
	// Program is the command of assay itself, as a shell takes it: what the
	// files call.
	Program string
	// Limit ends a combination.
	Limit time.Duration
}

// Verify says what was found of a combination. An error means that nothing
// could be found out; a combination that fails is not an error.
func (v Verifier) Verify(ctx context.Context, c Combination) (Outcome, error) {
	o := Outcome{Pipeline: c.Pipeline, Platform: c.Platform}
	model, err := v.representative(c)
	if err != nil {
		return o, err
	}
	o.Model = model.Type
	dir, err := os.MkdirTemp("", "assay-verify-")
	if err != nil {
		return o, fmt.Errorf("make a folder for the generated files: %w", err)
	}
	defer os.RemoveAll(dir)
	runtime.LockOSThread() // see environment.Group
	defer runtime.UnlockOSThread()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, v.Limit)
	defer cancel()
	file, err := v.generate(dir, model, c.Platform)
	if err == nil {
		err = v.check(ctx, dir)
	}
	if err == nil {
		err = v.run(ctx, dir, file, &o)
	}
	o.Seconds = time.Since(began).Seconds()
	if red := (*redError)(nil); errors.As(err, &red) {
		o.State, o.Why = Failed, red.Error()
		return o, nil
	}
	return o, err
}

// redError is what makes a combination fail before its tests say so.
type redError struct{ error }

// representative is the model that stands for a pipeline on a platform: the
// first that can run there at all, else the first of all, whose test says why.
func (v Verifier) representative(c Combination) (tests.Model, error) {
	i := slices.Index(Pipelines(), c.Pipeline)
	var first tests.Model
	for at, of := range representatives[i].models {
		chosen, err := v.Catalog.Select(catalog.Selector{Models: []string{of.name}})
		if err != nil {
			return first, err
		}
		m, err := tests.Of(v.Catalog, chosen[0])
		if err != nil {
			return first, err
		}
		if m.RunsOn(c.Platform) && !slices.Contains(of.except, c.Platform) {
			return m, nil
		}
		if at == 0 {
			first = m
		}
	}
	return first, nil
}

func (v Verifier) generate(dir string, m tests.Model, on platform.Name) (string, error) {
	only := []platform.Name{on}
	file, err := tests.File(m, only)
	if err != nil {
		return "", err
	}
	shared, err := tests.Conftest(only)
	if err != nil {
		return "", err
	}
	plan, err := generate.Plan(dir, []generate.File{shared, file})
	if err != nil {
		return "", err
	}
	if _, err := plan.Write(false); err != nil {
		return "", err
	}
	return file.Name, os.WriteFile(filepath.Join(dir, "mutants.py"), mutants, 0o644)
}

// check compiles and lints what was generated.
func (v Verifier) check(ctx context.Context, dir string) error {
	for _, step := range [][]string{
		{"-m", "compileall", "-q", "."},
		{"-m", "ruff", "check", "--isolated", "--no-cache", "--quiet", "--output-format", "concise", "--exclude", "mutants.py", "."},
		{"-m", "ruff", "format", "--isolated", "--no-cache", "--check", "--quiet", "--exclude", "mutants.py", "."},
	} {
		cmd := v.Python(ctx, step...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err := v.late(ctx); err != nil {
			return err
		}
		if err != nil {
			return &redError{fmt.Errorf("python %s: %s", strings.Join(step[:3], " "), firstLine(out))}
		}
	}
	return nil
}

// run runs the file and its mutants, and reads what they say.
func (v Verifier) run(ctx context.Context, dir, file string, o *Outcome) error {
	args := []string{"mutants.py", file, string(o.Platform)}
	if tests.KeepsArtefacts(o.Platform) {
		args = append(args, "--artefacts="+filepath.Join(dir, "artefacts"))
	}
	cmd := v.Python(ctx, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "ASSAY="+v.Program, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return v.late(ctx)
	case err != nil:
		return &redError{fmt.Errorf("the tests could not be run: %s", lastLine(told.Bytes()))}
	}
	if err := json.Unmarshal(out.Bytes(), o); err != nil {
		return &redError{fmt.Errorf("the tests' output cannot be parsed: %w", err)}
	}
	o.judge()
	return nil
}

// late is what a context that ended means: the combination's limit makes it
// fail, everything else ends the whole.
func (v Verifier) late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &redError{fmt.Errorf("it took longer than %s", v.Limit)}
	}
	return ctx.Err()
}

// judge decides the state by what the tests and the mutants came to.
func (o *Outcome) judge() {
	tried, noticed := o.Tried()
	switch {
	case len(o.Failed) > 0:
		name := slices.Sorted(maps.Keys(o.Failed))[0]
		o.State, o.Why = Failed, name+": "+o.Failed[name]
	case len(o.Passed)+len(o.Skipped) == 0:
		o.State, o.Why = Failed, "no test was found"
	case len(o.Passed) == 0:
		o.State, o.Why = NotHere, anyOf(o.Skipped)
	case noticed < tried:
		o.State, o.Why = Failed, "not noticed: "+strings.Join(o.unnoticed(), ", ")
	default:
		o.State = Passed
	}
}

func (o *Outcome) unnoticed() []string {
	var names []string
	for name, m := range o.Mutants {
		if m.Cannot == "" && len(m.NoticedBy) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

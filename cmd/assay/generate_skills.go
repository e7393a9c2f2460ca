package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"assay/internal/generate"
	"assay/internal/generate/pytests"
	"assay/internal/generate/skills"
	"assay/internal/generate/tests"
	"assay/internal/platform"

	"github.com/spf13/cobra"
)

// skillFlags say which skills are written, and whether their tests are run.
type skillFlags struct {
	generateFlags
	runTests bool
	workers  int
	device   string
}

func generateSkillCommand(a *app) *cobra.Command {
	f := &skillFlags{}
	c := &cobra.Command{
		Use:   "skill [MODEL…]",
		Short: "Write a module for each model that takes what people have and gives what they want",
		Long: `Generate skill writes skill_hf_TYPE.py for each model: a module that stands alone, with a class that loads the model on a
platform (or where that platform's work goes when it is not here, and says so), takes a text, a picture, a sound, a film,
a question with documents or several of them, and gives a text, labels, boxes, a vector, a picture; with a command line,
and test_skill_hf_TYPE.py beside it. It needs torch and transformers (diffusers for pipelines); on openvino and qnn it
asks assay for the graph. For webnn and webgpu an ES module skill_hf_TYPE.mjs and a page skill_hf_TYPE.html have the same
words; they run what "assay export TYPE --format onnx" makes, or a model in the layout of transformers.js.

Files that nobody edited are brought up to date; edited ones are kept unless --force is given.

Exit status: 0 done; 1 the program failed; 2 wrong usage; 3 some file was edited and kept, with --check differs, or,
with --run-tests, some test failed.`,
		Example: `  assay generate skill bert --out skills
  assay generate skill --key --platform cpu,cuda --out skills
  assay generate skill bert vit --out skills --run-tests
  assay generate skill --all --check --out skills`,
		RunE: func(c *cobra.Command, args []string) error { return a.generateSkills(c.Context(), f, args) },
	}
	f.add(c, "skills")
	fs := c.Flags()
	fs.BoolVar(&f.runTests, "run-tests", false, "run the tests of the skills under pytest, and say what became of each")
	fs.IntVar(&f.workers, "workers", 1, "processes of pytest side by side")
	fs.StringVar(&f.device, "device", "cpu", "the platform that the tests run on")
	return c
}

func (a *app) generateSkills(ctx context.Context, f *skillFlags, args []string) error {
	if f.workers < 1 {
		return usage("--workers %d is out of range: it must be at least 1", f.workers)
	}
	chosen, on, cat, err := a.meant(ctx, &f.generateFlags, args)
	if err != nil {
		return err
	}
	shared, err := tests.Conftest(on)
	if err != nil {
		return err
	}
	files := []generate.File{shared}
	var without []unwritten
	var testing []string
	for _, ch := range chosen {
		wanted, err := f.wants(ch.Entry.Type, on)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		made, err := skills.Files(cat, ch, on)
		if err != nil {
			without = append(without, unwritten{ch.Entry.Type, err.Error()})
			continue
		}
		files = append(files, made...)
		testing = append(testing, skills.Test(ch.Entry.Type))
	}
	if f.runTests && !f.check && a.asJSON {
		// One object is printed: what became of the tests.
		outside := *a.env
		outside.stdout = io.Discard
		quiet := *a
		quiet.env = &outside
		return errors.Join(quiet.settle(&f.generateFlags, files, without), a.runSkillTests(ctx, f, testing))
	}
	if err := a.settle(&f.generateFlags, files, without); err != nil || !f.runTests || f.check {
		return err
	}
	return a.runSkillTests(ctx, f, testing)
}

// wants reports whether the skill of a type is to be written.
func (f *skillFlags) wants(modelType string, on []platform.Name) (bool, error) {
	if !f.missing {
		return true, nil
	}
	return lacks(filepath.Join(f.out, skills.Stem(modelType)+".py"), on)
}

// runSkillTests runs the tests of skills in the environment's Python, and prints
// a table of what became of them.
func (a *app) runSkillTests(ctx context.Context, f *skillFlags, files []string) error {
	m, err := a.maker()
	if err != nil {
		return err
	}
	env, err := m.Open(ctx, a.choice())
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := pytests.Runner{Python: env.Command, Program: self, Dir: f.out, Workers: f.workers, Done: func(one pytests.Result) { a.say(testedLine(one)) }}
	found, err := r.Run(ctx, files, "--device", f.device)
	if err != nil {
		return err
	}
	return a.tellTested(found)
}

func testedLine(r pytests.Result) string {
	sign := map[bool]string{true: "✓", false: "✗"}[r.OK()]
	return fmt.Sprintf("%s %s: %d passed, %d failed, %d skipped (%.0f s)", sign, r.File, r.Passed, r.Failed, r.Skipped, r.Seconds)
}

// tellTested prints the results; some failure is an error with its own status.
func (a *app) tellTested(found []pytests.Result) error {
	failed := 0
	for _, r := range found {
		if !r.OK() {
			failed++
		}
	}
	if a.asJSON {
		if err := a.printJSON(map[string]any{"schema": 1, "tests": found, "failed": failed}); err != nil {
			return err
		}
	} else if err := a.testTable(found, failed); err != nil {
		return err
	}
	if failed > 0 {
		return &statusError{exitFails, nil}
	}
	return nil
}

func (a *app) testTable(found []pytests.Result, failed int) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "test\tpassed\tfailed\tskipped\tseconds\twhy")
	for _, r := range found {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.1f\t%s\n", strings.TrimSuffix(r.File, ".py"), r.Passed, r.Failed, r.Skipped, r.Seconds, r.Why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%s, %d failed\n", counted(len(found), "test file", "test files"), failed)
	return err
}

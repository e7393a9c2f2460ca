package main

import (
	"context"
	"errors"
	"path/filepath"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/generate/skills"
	"assay/internal/platform"
	"assay/internal/pytests"

	"github.com/spf13/cobra"
)

func generateSkillCommand(a *app) *cobra.Command {
	f, how := &generateFlags{}, &runFlags{alone: true}
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
  assay generate skill --all --check --out skills`,
		RunE: func(c *cobra.Command, args []string) error {
			f.usual = !c.Flags().Changed("platform")
			return a.generateSkills(c.Context(), f, how, args)
		},
	}
	f.add(c, "skills")
	how.add(c)
	return c
}

func (a *app) generateSkills(ctx context.Context, f *generateFlags, how *runFlags, args []string) error {
	f.silent = a.asJSON && how.run && !f.check
	chosen, on, cat, err := a.meant(ctx, f, args)
	if err != nil {
		return err
	}
	shared, err := f.conftest(on)
	if err != nil {
		return err
	}
	files := []generate.File{shared}
	var (
		without []unwritten
		models  []ran
	)
	for _, ch := range chosen {
		made, err := f.skillOf(cat, ch, on)
		skip := (*unwritten)(nil)
		switch {
		case errors.As(err, &skip):
			without = append(without, *skip)
		case err != nil:
			return err
		case len(made) > 0:
			files = append(files, made...)
			models = append(models, ran{Model: ch.Entry.Type, Pipeline: ch.Entry.Pipeline, File: pytests.File{Name: skills.Test(ch.Entry.Type)}})
		}
	}
	if err := a.settle(f, files, without); err != nil || !how.run || f.check {
		return err
	}
	return a.runGenerated(ctx, how, f.out, models)
}

// skillOf are the files of one model's skill; none where they are not wanted,
// and an *unwritten where there are none.
func (f *generateFlags) skillOf(cat *catalog.Catalog, ch catalog.Choice, on []platform.Name) ([]generate.File, error) {
	on, err := f.wanted(filepath.Join(f.out, skills.Stem(ch.Entry.Type)+".py"), skills.Platforms(cat, ch, on))
	if err != nil || len(on) == 0 {
		return nil, err
	}
	made, err := skills.Files(cat, ch, on)
	if err != nil {
		return nil, &unwritten{ch.Entry.Type, err.Error()}
	}
	return made, nil
}

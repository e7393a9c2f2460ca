package main

import (
	"assay/internal/generate/folder"

	"github.com/spf13/cobra"
)

func generateSkillCommand(a *app) *cobra.Command {
	f, how := &generateFlags{Folder: folder.Folder{Skills: true}}, &runFlags{alone: true}
	c := &cobra.Command{
		Use:   "skill [MODEL…]",
		Short: "Write a module for each model that takes natural inputs and returns task outputs",
		Long: `Generate skill writes skill_hf_TYPE.py for each model: a standalone module, with a class that loads the model on a
platform (or on its fallback when that platform is not here, and says so), takes text, an image, audio, a video, a
question with documents or several of them, and returns text, labels, boxes, a vector or an image; with a command line,
and test_skill_hf_TYPE.py beside it. It needs torch and transformers (diffusers for pipelines); on openvino and qnn it
asks assay for the graph. For webnn and webgpu an ES module skill_hf_TYPE.mjs and a page skill_hf_TYPE.html have the same
methods; they run what "assay export TYPE --format web" makes, or a model in the layout of transformers.js.

Files that nobody edited are brought up to date; edited ones are kept unless --force is given.

With --run-tests their tests run on each platform that --device names: under pytest, and for webnn and webgpu in a real
headless browser, on graphs that are exported for them.

Exit status: 0 done; 1 the program failed; 2 wrong usage; 3 some file was edited and kept, with --check differs, or,
with --run-tests, some test failed.`,
		Example: `  assay generate skill bert --out skills
  assay generate skill --key --platform cpu,cuda --out skills
  assay generate skill bert --run-tests --device cpu,webnn --out skills
  assay generate skill --all --check --out skills`,
		RunE: func(c *cobra.Command, args []string) error {
			f.Usual = !c.Flags().Changed("platform")
			return a.generate(c.Context(), f, how, args)
		},
	}
	f.add(c, "skills")
	how.add(c)
	return c
}

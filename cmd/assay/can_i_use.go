package main

import (
	"context"
	"io"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/exports"
	"assay/internal/plan"
	"assay/internal/platform"

	"github.com/spf13/cobra"
)

const canIUseHelp = `Can-i-use answers from the atlas, the published results that the program carries, and from your own results. It runs
nothing, installs nothing and needs no network. A line for each target has the verdict, its evidence, why, the versions and the
day, and the command that checks it here. What nobody has run is unknown, with the reason.

MODEL is a type, a checkpoint of the catalogue or of the Hugging Face cache, a folder with a config.json, or that file.
The atlas is about types, tiny and with random weights: for a checkpoint its verdicts are predictions (should work), unless
you have run the checkpoint itself. Its weights are compared with the memory of the device: what --memory says, else this
machine's as far as it was detected; weights that are larger fail there.
Your own results outrank the atlas where their evidence is as strong, and a contradiction is shown.

Exit status: 0 the question is answered and, with --on, every model works, is partial, or should, on every target named;
1 the program failed; 2 wrong usage; with --on, 3 some model fails on some target; 4 none fails, and some cannot be run there;
5 none of these, and of some nothing is known. Without --on nothing is required, and what fails or is unknown gives 0.`

func canIUseCommand(a *app) *cobra.Command {
	var on []string
	var memory string
	c := &cobra.Command{
		Use: "can-i-use MODEL…", Short: "Does it work there? What is known already, at once, with nothing installed",
		Long: canIUseHelp,
		Example: `  assay can-i-use xclip
  assay can-i-use bert vit --on cuda,qnn
  assay can-i-use openai/whisper-tiny --on webnn --json
  assay can-i-use llava-1.5-7b --on cuda --memory 24GB`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			room, err := parseMemory(memory)
			if err != nil {
				return err
			}
			return a.canIUse(c.Context(), plan.Names(args), on, room)
		},
	}
	c.Flags().StringSliceVar(&on, "on", nil, "only these targets, and the exit status is about them: cuda, qnn, cpu/onnxruntime (default: all of the atlas and of your results)")
	c.Flags().StringVar(&memory, "memory", "", "the memory of the device that is meant, as 24GB: a checkpoint's weights are compared with it (default: this machine's, as far as it was detected)")
	return c
}

// parseMemory reads a size; 0 is none.
func parseMemory(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := exports.ParseBytes(text)
	if err != nil || n == 0 {
		return 0, usage("--memory: %q is not a size: write it as 24GB", text)
	}
	return n, nil
}

// answers is the top level of can-i-use --json.
type answers struct {
	Schema  int            `json:"schema"`
	Answers []atlas.Answer `json:"answers"`
}

func (a *app) canIUse(ctx context.Context, names, on []string, memory int64) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	book, err := atlas.Embedded()
	if err != nil {
		return err
	}
	targets, err := namedTargets(on)
	if err != nil {
		return err
	}
	var models []atlas.Model
	for _, name := range names {
		m, err := a.askedModel(ctx, cat, name)
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	own, machine := a.ownResults(models)
	out := answers{Schema: cell.Schema}
	for _, m := range models {
		m.Room = a.room(machine, memory)
		answer, err := book.Ask(m, targets, own)
		if err != nil {
			return err
		}
		out.Answers = append(out.Answers, answer)
	}
	if err := a.print(out, func(w io.Writer) error { return atlas.WriteText(w, out.Answers) }); err != nil {
		return err
	}
	if status := atlasStatus(out.Answers); len(on) > 0 && status != exitOK {
		return &statusError{status: status}
	}
	return nil
}

// namedTargets are those that a user named, each once, in their short form.
func namedTargets(names []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, n := range names {
		t, err := platform.ParseTarget(n)
		if err != nil {
			return nil, usage("--on: %w", err)
		}
		if s := t.String(); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out, nil
}

// atlasStatus is the exit status of answers whose targets were asked for.
func atlasStatus(answers []atlas.Answer) int {
	seen := map[cell.Verdict]bool{}
	for _, a := range answers {
		for _, l := range a.Targets {
			seen[l.Verdict] = true
		}
	}
	switch {
	case seen[cell.Fails]:
		return exitFails
	case seen[cell.Unavailable]:
		return exitUnavailable
	case seen[cell.Unknown]:
		return exitNothing
	}
	return exitOK
}

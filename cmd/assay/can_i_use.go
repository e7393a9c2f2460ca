package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/hub"
	"assay/internal/matrix"
	"assay/internal/plan"
	"assay/internal/platform"

	"github.com/spf13/cobra"
)

const canIUseHelp = `Can-i-use answers from the atlas, the published results that the program carries, and from your own results. It runs
nothing, installs nothing and needs no network. A line for each target has the verdict, its evidence, why, the versions and the
day, and the command that checks it here. What nobody has run is unknown, with the reason.

MODEL is a type, a checkpoint of the catalogue or of the Hugging Face cache, a folder with a config.json, or that file.
The atlas is about types, tiny and with random weights: for a checkpoint its verdicts are predictions (should work), unless
you have run the checkpoint itself.
Your own results outrank the atlas where their evidence is as strong, and a contradiction is shown.

Exit status: 0 the question is answered and, with --on, every model works, is partial, or should, on every target named;
1 the program failed; 2 wrong usage; with --on, 3 some model fails on some target; 4 none fails, and some cannot be run there;
5 none of these, and of some nothing is known. Without --on nothing is required, and what fails or is unknown gives 0.`

func canIUseCommand(a *app) *cobra.Command {
	var on []string
	c := &cobra.Command{
		Use: "can-i-use MODEL…", Short: "Does it work there? What is known already, at once, with nothing installed",
		Long: canIUseHelp,
		Example: `  assay can-i-use xclip
  assay can-i-use bert vit --on cuda,qnn
  assay can-i-use openai/whisper-tiny --on webnn --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.canIUse(c.Context(), plan.Names(args), on)
		},
	}
	c.Flags().StringSliceVar(&on, "on", nil, "only these targets, and the exit status is about them: cuda, qnn, cpu/onnxruntime (default: all of the atlas and of your results)")
	return c
}

// answers is the top level of can-i-use --json.
type answers struct {
	Schema  int            `json:"schema"`
	Answers []atlas.Answer `json:"answers"`
}

func (a *app) canIUse(ctx context.Context, names, on []string) error {
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
		m, err := a.askedModel(cat, name)
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	own := a.ownResults(ctx, models)
	out := answers{Schema: cell.Schema}
	for _, m := range models {
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

// askedModel is the model that a user named. The type of one that only the Hub has
// is known where its configuration is in the Hugging Face cache.
func (a *app) askedModel(cat *catalog.Catalog, name string) (atlas.Model, error) {
	c, entry, err := plan.Look{Model: name, Batch: 1}.Cell(cat)
	if unknown := (*catalog.UnknownModelError)(nil); errors.As(err, &unknown) && strings.Contains(name, "/") {
		config, missing := a.cachedConfig(name)
		if missing != nil {
			return atlas.Model{}, usage("the type of %s is not known here (%w): name its type, or the path of its config.json", name, missing)
		}
		c, entry, err = plan.Look{Model: config, Batch: 1}.Cell(cat)
		c.Checkpoint = name
	}
	if err != nil {
		return atlas.Model{}, err
	}
	m := atlas.Model{Name: name, Type: entry.Type, Task: entry.Task, Checkpoint: c.Checkpoint}
	for _, k := range cat.CheckpointsOf(entry.Type) {
		if k.Name == c.Checkpoint {
			m.Parameters = k.Parameters
		}
	}
	return m, nil
}

// cachedConfig is the path of a published model's config.json in the cache. The
// network is not asked.
func (a *app) cachedConfig(name string) (string, error) {
	ref, err := hub.ParseRef(name)
	if err != nil {
		return "", err
	}
	h, err := (&hubFlags{}).open(a.env, a.say)
	if err != nil {
		return "", err
	}
	s, err := h.Cached(ref, hub.Want{ConfigOnly: true})
	return filepath.Join(s.Folder, "config.json"), err
}

// ownResults are the user's of these models' types. Where there are none nothing is
// opened, and where they cannot be read the atlas answers alone.
func (a *app) ownResults(ctx context.Context, models []atlas.Model) []atlas.Own {
	if !a.home().Kept() {
		return nil
	}
	var types []string
	for _, m := range models {
		types = append(types, m.Type)
	}
	var results []matrix.Observation
	h, err := a.home().History()
	if err == nil {
		results, err = h.OfTypes(ctx, types)
	}
	if err != nil {
		a.say(fmt.Sprintf("your own results are left out: %v", err))
		return nil
	}
	own := make([]atlas.Own, len(results))
	for i, r := range results {
		own[i] = atlas.Own{Result: r.Result, Host: r.Host, Imported: r.Imported}
	}
	return own
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

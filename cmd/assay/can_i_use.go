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

With --in it answers for every model that a project names: its Python, JavaScript, notebooks and configuration files are
read, nothing of it is run. A model that only a program knows (from_pretrained(args.model)) is listed as such, and counts as unknown.

MODEL is a type, a checkpoint of the catalogue or of the Hugging Face cache, a folder with a config.json, or that file.
The atlas is about types, tiny and with random weights: for a checkpoint its verdicts are predictions (should work), unless
you have run the checkpoint itself. Its weights are compared with the memory of the device: what --memory says, else this
machine's as far as it was detected; weights that are larger fail there.
Your own results outrank the atlas where their evidence is as strong, and a contradiction is shown.

Exit status: 0 the question is answered and, with --on, every model works, is partial, or should, on every target named;
1 the program failed; 2 wrong usage; with --on, 3 some model fails on some target; 4 none fails, and some cannot be run there;
5 none of these, and of some nothing is known. Without --on nothing is required, and what fails or is unknown gives 0.`

// question is what can-i-use is asked.
type question struct {
	names  []string // models
	in     bool     // a project names them
	folder string   // it
	on     []string // targets
	memory int64    // of the device that is meant; 0 is not said
}

func canIUseCommand(a *app) *cobra.Command {
	var q question
	var memory string
	c := &cobra.Command{
		Use: "can-i-use [MODEL…]", Short: "Does it work there? What is known already, at once, with nothing installed",
		Long: canIUseHelp,
		Example: `  assay can-i-use xclip
  assay can-i-use bert vit --on cuda,qnn
  assay can-i-use openai/whisper-tiny --on webnn --json
  assay can-i-use llava-1.5-7b --on cuda --memory 24GB
  assay can-i-use --in . --on cuda,webgpu`,
		RunE: func(c *cobra.Command, args []string) (err error) {
			q.in = c.Flags().Changed("in")
			if q.names = plan.Names(args); len(q.names) == 0 && !q.in {
				return usage("name a model, or a project with --in")
			}
			if q.memory, err = parseMemory(memory); err != nil {
				return err
			}
			return a.canIUse(c.Context(), q)
		},
	}
	c.Flags().StringSliceVar(&q.on, "on", nil, "only these targets, and the exit status is about them: cuda, qnn, cpu/onnxruntime (default: all of the atlas and of your results)")
	c.Flags().StringVar(&memory, "memory", "", "the memory of the device that is meant, as 24GB: a checkpoint's weights are compared with it (default: this machine's, as far as it was detected)")
	c.Flags().StringVar(&q.folder, "in", "", "the models that the project in this folder names: from_pretrained, pipeline, notebooks, configuration files")
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
	Project *project       `json:"project,omitempty"`
}

func (a *app) canIUse(ctx context.Context, q question) error {
	reading := a.startReading()
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	book, err := reading()
	if err != nil {
		return err
	}
	targets, err := namedTargets(q.on)
	if err != nil {
		return err
	}
	models, in, err := a.askedModels(ctx, cat, q)
	if err != nil {
		return err
	}
	out := answers{Schema: cell.Schema, Answers: []atlas.Answer{}, Project: in}
	own, machine := a.ownResults(asModels(models))
	room := a.room(machine, q.memory)
	for _, m := range models {
		answer := book.NotKnown(m.Name, m.why, targets)
		if m.Type != "" {
			m.Room = room
			if answer, err = book.Ask(m.Model, targets, own); err != nil {
				return err
			}
		}
		answer.Places = m.places
		out.Answers = append(out.Answers, answer)
	}
	if err := a.print(out, out.write); err != nil {
		return err
	}
	if status := out.status(); len(q.on) > 0 && status != exitOK {
		return &statusError{status: status}
	}
	return nil
}

func asModels(all []named) []atlas.Model {
	out := make([]atlas.Model, len(all))
	for i, n := range all {
		out[i] = n.Model
	}
	return out
}

// askedModels are those that a user named, and those that a project does.
func (a *app) askedModels(ctx context.Context, cat *catalog.Catalog, q question) (all []named, in *project, err error) {
	for _, name := range q.names {
		m, err := a.askedModel(ctx, cat, name)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, named{Model: m})
	}
	if q.in {
		if in, err = a.namedIn(ctx, cat, q.folder); err != nil {
			return nil, nil, err
		}
		all = append(all, in.models...)
	}
	return all, in, nil
}

func (o answers) write(w io.Writer) error {
	if len(o.Answers) > 0 {
		if err := atlas.WriteText(w, o.Answers); err != nil {
			return err
		}
	}
	if o.Project != nil {
		o.Project.write(w)
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

// status is the exit status of answers whose targets were asked for. A project of which
// nothing can be told, or not all, has an unknown in it.
func (o answers) status() int {
	seen := map[cell.Verdict]bool{}
	for _, a := range o.Answers {
		for _, l := range a.Targets {
			seen[l.Verdict] = true
		}
	}
	if p := o.Project; p != nil && (len(o.Answers) == 0 || len(p.Untold)+len(p.Skipped) > 0 || p.More) {
		seen[cell.Unknown] = true
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

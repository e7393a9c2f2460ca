package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"assay/internal/generate"
	"assay/internal/generate/folder"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/session"

	"github.com/spf13/cobra"
)

// generateFlags say which files are written, for which platforms, and where.
type generateFlags struct {
	selectors
	folder.Folder
	platforms []string
	force     bool
	silent    bool // what was written is not told: another JSON object follows
}

func generateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "generate",
		Short: "Write tests and skills for models: files you keep, which run without Assay",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(generateTestCommand(a), generateSkillCommand(a))
	return c
}

func (f *generateFlags) add(c *cobra.Command, out string) {
	f.selectors.add(c)
	fs := c.Flags()
	fs.StringSliceVar(&f.platforms, "platform", []string{"all"}, "all, auto (those of this machine), or names of platforms")
	fs.StringVar(&f.Dir, "out", out, "the folder to write into")
	fs.BoolVar(&f.Missing, "missing", false, "only models with no file there, or one that lacks a requested platform; with no models named, all")
	fs.BoolVar(&f.force, "force", false, "also overwrite edited files; text between the marked lines is kept")
	fs.BoolVar(&f.Check, "check", false, "write nothing; list the files that would change (exit status 3 if there are any)")
}

// generate writes the files of the models that are asked for, with what they
// share, and runs their tests where that was asked for.
func (a *app) generate(ctx context.Context, f *generateFlags, how *runFlags, args []string) error {
	f.silent = a.asJSON && how.run && !f.Check
	if err := f.check(args); err != nil {
		return err
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return err
	}
	chosen, err := cat.Select(f.selector(args))
	if err != nil {
		return usage("%w", err)
	}
	on, err := a.findPlatforms(ctx, f.platforms)
	if err != nil {
		return err
	}
	made, err := f.Make(cat, chosen, on)
	if err != nil {
		return err
	}
	err = a.writeFiles(f, made)
	if !how.run || f.Check {
		return err
	}
	if err != nil {
		a.say("no test was run, because not all files could be written")
		return err
	}
	return a.runGenerated(ctx, how, f.Dir, made.Models)
}

// check refuses what no file can be written for; what is missing, or to be
// checked, is so of all models where none are named.
func (f *generateFlags) check(args []string) error {
	if slices.Contains(args, "") {
		return usage("a model's name is empty")
	}
	if f.Dir == "" {
		return usage("--out must name a folder")
	}
	if at, err := os.Stat(f.Dir); err == nil && !at.IsDir() {
		return usage("%s is a file: --out must name a folder", f.Dir)
	}
	if f.none(args) {
		if !f.Missing && !f.Check {
			return usage("generate needs a model: a type (bert), a checkpoint (bert-base-uncased), or a selector such as --key or --all")
		}
		f.All = true
	}
	if i := slices.IndexFunc(args, plan.IsPath); i >= 0 {
		return usage("%s is a path: files are generated for types of the catalogue and their checkpoints (see \"assay models\")", args[i])
	}
	return nil
}

// findPlatforms are the platforms that names mean, with those of this machine
// for auto.
func (a *app) findPlatforms(ctx context.Context, names []string) ([]platform.Name, error) {
	return plan.Platforms(names, func() ([]platform.Name, error) {
		s, err := a.openPresentSession(nil)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		r, err := s.Detect(ctx, session.Asking{})
		return r.Present(), err
	})
}

// writeFiles compares the files with the folder, writes them unless --check was
// given, and says what became of each.
func (a *app) writeFiles(f *generateFlags, made folder.Contents) error {
	changes, err := generate.Plan(f.Dir, made.Files)
	if err != nil {
		return usage("%w", err)
	}
	if f.Check {
		return a.printDiffering(changes)
	}
	written, err := changes.Write(f.force)
	if err != nil {
		return usage("cannot write into %s: %w; give another --out", f.Dir, err)
	}
	kept := changes.LeftAlone(f.force)
	if !f.silent {
		same := changes.Of(generate.Same)
		answer := generateAnswer{Schema: 1, Written: written.Paths(), Same: same.Paths(), Kept: kept.Paths(), Without: append([]folder.Unwritten{}, made.Without...)}
		err = a.print(answer, func(w io.Writer) error {
			writeWritten(w, f.Dir, written, same, made.Without)
			return nil
		})
	}
	if err != nil || len(kept) == 0 {
		return err
	}
	for _, c := range kept {
		a.say(c.Path + " " + leftAlone[c.State])
	}
	return &statusError{exitFails, fmt.Errorf("%s kept; use another --out to write them all", counted(len(kept), "file was", "files were"))}
}

// leftAlone says why a file was not written, and what to do about it.
var leftAlone = map[generate.State]string{
	generate.Edited:  "was edited outside its marked lines and is left unchanged: --force overwrites it",
	generate.Broken:  "has marked lines that are not in pairs, and is left unchanged: fix them, or move the file away",
	generate.Foreign: "was not written by assay and is left unchanged, even with --force: move it away",
}

func writeWritten(w io.Writer, dir string, written, same generate.Changes, without []folder.Unwritten) {
	fmt.Fprintf(w, "%s written to %s, %d unchanged\n", counted(len(written), "file", "files"), dir, len(same))
	if len(without) == 0 {
		return
	}
	fmt.Fprintf(w, "%s without a file:\n", counted(len(without), "model", "models"))
	for _, l := range without {
		fmt.Fprintf(w, "  %s: %s\n", l.Model, l.Reason)
	}
}

// printDiffering lists the files that are not as they would be written.
func (a *app) printDiffering(changes generate.Changes) error {
	differ, there := changes.Differing()
	err := a.print(generateCheckAnswer{Schema: 1, Differ: states(differ), Checked: there}, func(w io.Writer) error {
		for _, c := range differ {
			fmt.Fprintf(w, "%s\t%s\n", c.State, c.Path)
		}
		_, err := fmt.Fprintf(w, "%d of %s would change\n", len(differ), counted(there, "file", "files"))
		return err
	})
	if err != nil {
		return err
	}
	if len(differ) > 0 {
		return &statusError{exitFails, nil}
	}
	return nil
}

func states(changes generate.Changes) []fileState {
	out := []fileState{}
	for _, c := range changes {
		out = append(out, fileState{c.Path, string(c.State)})
	}
	return out
}

// counted is a number with the word for one or for many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", n, many))
}

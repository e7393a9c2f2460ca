package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/detect"
	"assay/internal/generate"
	"assay/internal/generate/skills"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/pytests"

	"github.com/spf13/cobra"
)

// generateFlags say which files are written, for which platforms, and where.
type generateFlags struct {
	selectors
	platforms             []string
	out                   string
	missing, force, check bool
	usual                 bool // the platforms were not named
	skills                bool // the files are skills, not tests of models
	silent                bool // what was written is not told: another JSON object follows
}

func generateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "generate",
		Short: "Write tests and skills for models: files to keep, that run without Assay",
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
	fs.StringVar(&f.out, "out", out, "the folder to write into")
	fs.BoolVar(&f.missing, "missing", false, "only models that have no file there, or one that lacks an asked platform; without models, of all")
	fs.BoolVar(&f.force, "force", false, "also write over files that were edited; what stands between the marked lines survives")
	fs.BoolVar(&f.check, "check", false, "write nothing; list the files that would be written differently today (exit status 3 if there are any)")
}

// written are the files of one model, and the one of them that is a test. None
// are there where they are not wanted; where there can be none, the error is an
// *unwritten.
type written struct {
	files []generate.File
	test  string
	trial skills.Trial // of a skill, in a browser
}

// generate writes the files of the models that are meant, with what they share,
// and runs their tests where that was asked for.
func (a *app) generate(ctx context.Context, f *generateFlags, how *runFlags, args []string,
	of func(*catalog.Catalog, catalog.Choice, []platform.Name) (written, error),
) error {
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
		made, err := of(cat, ch, on)
		skip := (*unwritten)(nil)
		switch {
		case errors.As(err, &skip):
			without = append(without, *skip)
		case err != nil:
			return err
		case made.test != "":
			files = append(files, made.files...)
			models = append(models, ran{Model: ch.Entry.Type, Task: cmp.Or(ch.Task, ch.Entry.Task), Pipeline: ch.Entry.Pipeline, File: pytests.File{Name: made.test}, trial: made.trial})
		}
	}
	if there, _ := filepath.Glob(filepath.Join(f.out, "test_*.py")); len(models)+len(there) == 0 {
		files = nil // conftest.py alone is of no use
	}
	err = a.settle(f, files, without)
	if !how.run || f.check {
		return err
	}
	if err != nil {
		a.say("no test was run, because not all files could be written")
		return err
	}
	return a.runGenerated(ctx, how, f.out, models)
}

// meant returns the models that are meant and the platforms.
func (a *app) meant(ctx context.Context, f *generateFlags, args []string) ([]catalog.Choice, []platform.Name, *catalog.Catalog, error) {
	if slices.Contains(args, "") {
		return nil, nil, nil, usage("a model's name is empty")
	}
	if f.out == "" {
		return nil, nil, nil, usage("--out names no folder")
	}
	if at, err := os.Stat(f.out); err == nil && !at.IsDir() {
		return nil, nil, nil, usage("%s is a file: --out names a folder", f.out)
	}
	if f.none(args) {
		if !f.missing && !f.check {
			return nil, nil, nil, usage("generate needs a model: a type (bert), a checkpoint (bert-base-uncased), or a selector such as --key or --all")
		}
		f.All = true
	}
	if i := slices.IndexFunc(args, plan.IsPath); i >= 0 {
		return nil, nil, nil, usage("%s is a path: files are generated for types of the catalogue and their checkpoints (see \"assay models\")", args[i])
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	chosen, err := cat.Select(f.selector(args))
	if err != nil {
		return nil, nil, nil, usage("%w", err)
	}
	on, err := a.generatedFor(ctx, f.platforms)
	return chosen, on, cat, err
}

// generatedFor are the platforms that files are written for.
func (a *app) generatedFor(ctx context.Context, names []string) ([]platform.Name, error) {
	var on []platform.Name
	for _, name := range names {
		switch name {
		case "all":
			on = append(on, platform.Names()...)
		case "auto":
			r, err := a.detect(ctx, "", asking{})
			if err != nil {
				return nil, err
			}
			for _, p := range r.Platforms {
				if p.Status == detect.Present {
					on = append(on, p.Platform)
				}
			}
		default:
			p, err := platform.Parse(name)
			if err != nil {
				return nil, usage("%w (or all, or auto)", err)
			}
			on = append(on, p.Name)
		}
	}
	if len(on) == 0 {
		return nil, usage("--platform names no platform: give all, auto, or names")
	}
	slices.Sort(on)
	return slices.Compact(on), nil
}

// unwritten is a model that got no file, and why: an error that ends nothing.
type unwritten struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

func (u *unwritten) Error() string { return u.Reason }

// settle compares the files with the folder, writes them unless --check was
// given, and says what became of each.
func (a *app) settle(f *generateFlags, files []generate.File, without []unwritten) error {
	plan, err := generate.Plan(f.out, files)
	if err != nil {
		return usage("%w", err)
	}
	if f.check {
		return a.checked(plan)
	}
	written, err := plan.Write(f.force)
	if err != nil {
		return usage("cannot write into %s: %w; give another --out", f.out, err)
	}
	kept := plan.Of(generate.Broken, generate.Foreign)
	if !f.force {
		kept = plan.Of(generate.Edited, generate.Broken, generate.Foreign)
	}
	switch {
	case f.silent:
	case a.asJSON:
		err = a.printJSON(generateAnswer{Schema: 1, Written: paths(written), Same: paths(plan.Of(generate.Same)), Kept: paths(kept), Without: append([]unwritten{}, without...)})
	default:
		a.tellWritten(f, written, plan.Of(generate.Same), without)
	}
	if err != nil || len(kept) == 0 {
		return err
	}
	for _, c := range kept {
		a.say(c.Path + " " + leftAlone[c.State])
	}
	return &statusError{exitFails, fmt.Errorf("%s kept; another --out has room for all", counted(len(kept), "file was", "files were"))}
}

// leftAlone says why a file was not written, and what to do about it.
var leftAlone = map[generate.State]string{
	generate.Edited:  "was edited outside of its marked lines and is left as it is: --force writes over it",
	generate.Broken:  "has marked lines that are not in pairs, and is left as it is: mend them, or move it away",
	generate.Foreign: "was not written by assay and is left as it is, also with --force: move it away",
}

func (a *app) tellWritten(f *generateFlags, written, same generate.Changes, without []unwritten) {
	fmt.Fprintf(a.stdout, "%s written to %s, %d as they were\n", counted(len(written), "file", "files"), f.out, len(same))
	if len(without) == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "%s without a file:\n", counted(len(without), "model", "models"))
	for _, l := range without {
		fmt.Fprintf(a.stdout, "  %s: %s\n", l.Model, l.Reason)
	}
}

// checked lists the files that are not as they would be written.
func (a *app) checked(plan generate.Changes) error {
	differ := plan.Of(generate.New, generate.Outdated, generate.Edited, generate.Broken, generate.Foreign)
	there := slices.DeleteFunc(slices.Clone(differ), func(c generate.Change) bool { return c.State == generate.New })
	if a.asJSON {
		if err := a.printJSON(generateCheckAnswer{Schema: 1, Differ: states(there), Checked: len(plan) - (len(differ) - len(there))}); err != nil {
			return err
		}
	} else {
		for _, c := range there {
			fmt.Fprintf(a.stdout, "%s\t%s\n", c.State, c.Path)
		}
		fmt.Fprintf(a.stdout, "%d of %s would be written differently\n", len(there), counted(len(plan)-(len(differ)-len(there)), "file", "files"))
	}
	if len(there) > 0 {
		return &statusError{exitFails, nil}
	}
	return nil
}

func paths(changes generate.Changes) []string {
	out := []string{}
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return out
}

func states(changes generate.Changes) []fileState {
	out := []fileState{}
	for _, c := range changes {
		out = append(out, fileState{c.Path, string(c.State)})
	}
	return out
}

// wanted are the platforms that a file is written for: those asked for; with
// --missing also those that it knows, and none where it lacks nothing; with
// --check, where none were named, those that it knows.
func (f *generateFlags) wanted(path string, on []platform.Name) ([]platform.Name, error) {
	if !f.missing && (!f.check || !f.usual) {
		return on, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return on, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is there already: %w", err)
	}
	stamp, _, ok := generate.Origin(string(text))
	if !ok {
		return on, nil
	}
	var knows []platform.Name
	for _, n := range stamp.Platforms {
		knows = append(knows, platform.Name(n))
	}
	lacks := slices.ContainsFunc(on, func(n platform.Name) bool { return !slices.Contains(knows, n) })
	switch {
	case f.check && f.usual:
		return knows, nil
	case !lacks:
		return nil, nil
	}
	return append(knows, on...), nil
}

// counted is a number with the word for one or for many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", n, many))
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/bisect"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/spelling"

	"github.com/spf13/cobra"
)

// bisectFlags are what bisect takes beside what runs its cell.
type bisectFlags struct {
	pkg, good, bad, by string
	quick              bool
}

// What a release is judged by.
const (
	byVerdict = "verdict"
	byAnswers = "answers"
	bySpeed   = "speed"
)

func bisectCommand(a *app) *cobra.Command {
	f, b := &carryFlags{}, &bisectFlags{}
	c := &cobra.Command{
		Use:   "bisect MODEL",
		Short: "Since which release of a package does it fail, answer differently, or run more slowly?",
		Long: `Bisect takes a release of a package that is good and a later one that is bad, and finds the first bad one between them.
The package index says which releases there are, for this machine and Python and without pre-releases. Each release that is
tried gets an environment of its own beside Assay's, with everything else as near to Assay's own as the release allows; uv links
the files that they share. N releases take at most log2(N)+1 environments, the two named ones included, which are
tried only where the answer depends on them (--by answers and speed always need the good one). Every answer is kept: the same search asks nothing twice.

With --by verdict a release is bad where the cell fails (with --strict, also where it is partial). With --by answers it is
bad where the model gives outputs that differ from those with the good release (tiny models on the CPU). With --by speed each
release is timed against the good one, repeats interleaved and candidates confirmed as "assay bench --ab" does, and is bad where it is
slower. A release that cannot be installed, or with which nothing could be learned, is skipped and named.
The files that differ between the two releases are listed from their wheels' records, those of the model first.
` + modelHelp + `
Exit status: 0 the first bad release was found, or as near as releases can be tested; 1 the program failed; 2 wrong usage;
5 nothing was found: no release is bad, or none is good; 130 interrupted, what was finished is kept.`,
		Example: `  assay bisect bert --package transformers --good 5.10.0 --bad 5.22.2
  assay bisect umt5 --package transformers --good 5.0.0 --bad 5.17.0 --by answers
  assay bisect bert --package torch --good 2.12.0 --bad 2.15.0 --by speed --quick
  assay bisect vit --package openvino --good 2026.1.0 --bad 2026.4.1 --platform openvino`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.bisect(c.Context(), f, b, args) },
	}
	f.add(c, "cpu")
	fs := c.Flags()
	fs.StringVar(&b.pkg, "package", "transformers", "the package whose releases are tried")
	fs.StringVar(&b.good, "good", "", "a release that is good")
	fs.StringVar(&b.bad, "bad", "", "a later release that is bad (default: the one in Assay's own environment)")
	fs.StringVar(&b.by, "by", byVerdict, "verdict, answers or speed")
	fs.BoolVar(&b.quick, "quick", false, "with --by speed, 3 repeats of 0.2 s instead of 6 of 1 s before candidates are confirmed")
	return c
}

// check refuses what does not go together, before anything is loaded.
func (b *bisectFlags) check(a *app, m *environment.Maker) error {
	known := m.Packages()
	i := slices.IndexFunc(known, func(s string) bool { return environment.Normalize(s) == environment.Normalize(b.pkg) })
	switch {
	case i < 0:
		return usage("--package %s: Assay's environment was not made from such a package%s; it was made from %s", b.pkg, didYouMean(b.pkg, known), strings.Join(known, ", "))
	case b.good == "":
		return usage("bisect needs a release that is good: --good 5.10.0")
	case !slices.Contains([]string{byVerdict, byAnswers, bySpeed}, b.by):
		return usage("--by %s: it is verdict, answers or speed", b.by)
	case b.quick && b.by != bySpeed:
		return usage("--quick is for --by speed: verdicts are not timed")
	case a.python != "":
		return usage("bisect makes environments of its own: --python cannot be used with it; ASSAY_PYTHON names the Python that they are made from")
	case a.noSetup || environment.On(a.getenv("ASSAY_OFFLINE")):
		return usage("bisect installs releases: it cannot be used with --no-setup or ASSAY_OFFLINE")
	}
	b.pkg = known[i]
	if b.bad == "" {
		b.bad = m.Locked(b.pkg)
	}
	for _, v := range []string{b.good, b.bad} {
		if !isVersion(v) {
			return usage("%q is not a release: write its number, such as 5.10.0", v)
		}
	}
	return nil
}

func didYouMean(typed string, names []string) string {
	if meant := spelling.Meant(typed, names); meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return ""
}

// isVersion reports whether s can be a version, and nothing that uv would read as more.
func isVersion(s string) bool {
	return s != "" && s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz.+!") == ""
}

func (a *app) bisect(ctx context.Context, f *carryFlags, b *bisectFlags, args []string) error {
	m, err := a.maker()
	if err != nil {
		return err
	}
	if err := b.check(a, m); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	plan, cat, err := a.bisectPlan(ctx, f, b, args)
	if err != nil {
		return err
	}
	a.say(fmt.Sprintf("asking the package index for the releases of %s", b.pkg))
	releases, err := m.Releases(ctx, b.pkg, b.good, b.bad)
	if environment.IsKind(err, environment.Unsupported) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	a.say(fmt.Sprintf("%s of %s from %s to %s", counted(len(releases), "release", "releases"), b.pkg, b.good, b.bad))
	lab := &releaseLab{app: a, flags: f, base: m, catalog: cat, pkg: b.pkg, plan: plan, by: b.by, good: releases[0]}
	defer lab.close()
	path, err := a.bisectFile(m, b, plan, releases[0])
	if err != nil {
		return err
	}
	kept, err := bisect.Keep(lab, path)
	if err != nil {
		return err
	}
	from := 0
	if b.by != byVerdict {
		from = 1 // what the others are compared with
	}
	found, err := bisect.Search(ctx, releases, from, saying{kept, a.say, b.pkg})
	if err != nil {
		return err
	}
	return a.printBisected(ctx, lab, b, found)
}

// bisectPlan is the one cell that is tried with each release, with the catalogue of the
// environment in use: the subject stays the same.
func (a *app) bisectPlan(ctx context.Context, f *carryFlags, b *bisectFlags, args []string) (cell.Plan, *catalog.Catalog, error) {
	timing := cell.Functional
	switch {
	case b.by == bySpeed && b.quick:
		timing = cell.Quick
	case b.by == bySpeed:
		timing = cell.Thorough
	}
	s, plan, err := a.prepare(ctx, f, args, timing)
	if err != nil {
		return plan, nil, err
	}
	if err := s.Close(); err != nil {
		return plan, nil, err
	}
	if n := len(plan.Cells); n != 1 {
		return plan, nil, usage("bisect tries one cell with each release, and these are %d: name one model, platform, dtype and batch", n)
	}
	plan.NoFallback, plan.NoAdapt = true, true
	cat, err := a.catalog(ctx)
	return plan, cat, err
}

// bisectFile is where the answers of this search are kept: named by all that they
// depend on.
func (a *app) bisectFile(m *environment.Maker, b *bisectFlags, plan cell.Plan, good string) (string, error) {
	basis, err := m.Basis()
	if err != nil {
		return "", err
	}
	_, journals, err := a.home().Paths()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(journals), "bisect")
	if a.db != "" {
		dir = a.db + ".bisect"
	}
	if b.by == byVerdict {
		good = "" // verdicts do not depend on it
	}
	machine := a.machine
	if machine == nil {
		machine = detect.Live()
	}
	here := detect.JudgeFirst(detect.Look(machine)).Host
	sum := sha256.Sum256([]byte(strings.Join([]string{"bisect/1", basis, a.getenv("ASSAY_PYTHON"), b.pkg, b.by, good, plan.Hash(), here.MachineKey()}, "\n")))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".json"), os.MkdirAll(dir, 0o700)
}

// saying is a lab that tells each answer as it comes.
type saying struct {
	bisect.Lab
	say func(string)
	pkg string
}

// Try implements bisect.Lab.
func (s saying) Try(ctx context.Context, release string) (bisect.Answer, error) {
	a, err := s.Lab.Try(ctx, release)
	if err == nil {
		s.say(fmt.Sprintf("%s %s is %s: %s", s.pkg, release, a.State, a.Why))
	}
	return a, err
}

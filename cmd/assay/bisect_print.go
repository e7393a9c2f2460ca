package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"assay/internal/bisect"
	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/environment"
)

// bisectAnswer is what bisect prints with --json.
type bisectAnswer struct {
	Schema  int       `json:"schema"`
	Package string    `json:"package"`
	By      string    `json:"by"`
	Cell    cell.Cell `json:"cell"`
	bisect.Outcome
	Files  []environment.FileChange `json:"files"`  // of the package, that differ between last_good and first_bad
	Others []environment.Moved      `json:"others"` // packages whose versions differ between the two environments
}

// printBisected prints what was found, and returns the exit status.
func (a *app) printBisected(ctx context.Context, l *releaseLab, b *bisectFlags, found bisect.Outcome) error {
	answer := bisectAnswer{1, b.pkg, b.by, l.plan.Cells[0], found, []environment.FileChange{}, []environment.Moved{}}
	if answer.LastGood != "" && answer.FirstBad != "" {
		if err := l.difference(ctx, &answer); err != nil {
			return err
		}
	}
	if err := a.print(answer, answer.write); err != nil {
		return err
	}
	if found.FirstBad == "" || found.LastGood == "" {
		return &statusError{exitNothing, nil}
	}
	return nil
}

// difference fills in what differs between the two releases. Their environments are
// there, unless they were removed since an answer was kept.
func (l *releaseLab) difference(ctx context.Context, a *bisectAnswer) error {
	old, was, err := l.environment(ctx, a.LastGood)
	if err != nil {
		return err
	}
	now, is, err := l.environment(ctx, a.FirstBad)
	if err != nil {
		return err
	}
	if a.Files, err = environment.Differing(was, is, a.Package); err != nil {
		return err
	}
	nearFirst(a.Files, a.Cell.Type)
	a.Others = environment.Others(old, now, a.Package)
	return nil
}

// nearFirst puts files of the model's own folder before the others.
func nearFirst(files []environment.FileChange, model string) {
	near := func(f environment.FileChange) bool {
		return model != "" && strings.Contains(f.Path, "/"+strings.ReplaceAll(model, "-", "_")+"/")
	}
	slices.SortStableFunc(files, func(x, y environment.FileChange) int {
		switch {
		case near(x) && !near(y):
			return -1
		case near(y) && !near(x):
			return 1
		}
		return 0
	})
}

// filesShown is how many of the files that differ are printed; --json has all.
const filesShown = 25

// write prints the answer for people.
func (b bisectAnswer) write(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, x := range b.Answers {
		how := fmt.Sprintf("%.0f s", x.Seconds)
		if x.Kept {
			how = "kept"
		}
		fmt.Fprintf(t, "  %s %s\t%s\t%s\t%s\n", b.Package, x.Release, x.State, how, clean.Text(x.Why))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %d tried\n%s\n", counted(b.Releases, "release", "releases"), len(b.Answers), b.verdict())
	b.writeDifference(out)
	return nil
}

// verdict is what was found, in a sentence.
func (b bisectAnswer) verdict() string {
	name := func(release string) string { return b.Package + " " + release }
	between := strings.Join(b.Between, ", ")
	switch b.Ending {
	case bisect.Found:
		return fmt.Sprintf("first bad release: %s; %s is good", name(b.FirstBad), b.LastGood)
	case bisect.Narrowed:
		return fmt.Sprintf("bad since %s or one of the releases before it that cannot be tested (%s); %s is good", name(b.FirstBad), between, b.LastGood)
	case bisect.NeverBad:
		if between != "" {
			return fmt.Sprintf("nothing was found: %s, the last release that can be tested, is good; %s cannot be tested", name(b.LastGood), between)
		}
		return fmt.Sprintf("nothing was found: %s is good", name(b.LastGood))
	case bisect.AllBad:
		if between != "" {
			return fmt.Sprintf("nothing was found: %s, the first release that can be tested, is bad; %s cannot be tested", name(b.FirstBad), between)
		}
		return fmt.Sprintf("nothing was found: %s is bad already; name an older release with --good", name(b.FirstBad))
	}
	return "nothing was found: no release can be tested"
}

func (b bisectAnswer) writeDifference(out io.Writer) {
	if len(b.Others) > 0 {
		fmt.Fprintln(out, "other packages that differ between the two environments:")
	}
	for _, o := range b.Others {
		fmt.Fprintf(out, "  %s %s → %s\n", o.Package, orNone(o.Old), orNone(o.New))
	}
	if len(b.Files) == 0 {
		return
	}
	fmt.Fprintf(out, "files of %s that differ between the two: %d\n", b.Package, len(b.Files))
	for _, f := range b.Files[:min(len(b.Files), filesShown)] {
		fmt.Fprintf(out, "  %-7s  %s\n", f.How, clean.Text(f.Path))
	}
	if more := len(b.Files) - filesShown; more > 0 {
		fmt.Fprintf(out, "  and %d more (--json lists all)\n", more)
	}
}

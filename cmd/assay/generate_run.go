package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"assay/internal/cell"
	"assay/internal/generate/skills"
	"assay/internal/generate/tests"
	"assay/internal/history"
	"assay/internal/platform"
	"assay/internal/pytests"

	"github.com/spf13/cobra"
)

// runFlags say how generated files are run.
type runFlags struct {
	run     bool
	device  string
	workers int
	alone   bool // the files take nothing that was made for them before
}

func (f *runFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.BoolVar(&f.run, "run-tests", false, "run the files under pytest in the managed environment, and compare with what is stored of their models")
	fs.StringVar(&f.device, "device", "cpu", "where --run-tests runs them: names of platforms, or auto")
	fs.IntVar(&f.workers, "workers", 2, "processes of --run-tests")
}

// ran is a model whose file was run.
type ran struct {
	Model    string `json:"model"`
	Task     string `json:"task"`
	Pipeline string `json:"pipeline"`
	Device   string `json:"device"`
	pytests.File
	trial skills.Trial // of a skill, in a browser
	// Stored is what is stored of the model there; "" where nothing is.
	Stored cell.Verdict `json:"stored,omitempty"`
	// Disagrees is how the outcome stands against what is stored; "" where they
	// agree, or nothing is stored.
	Disagrees string `json:"disagrees,omitempty"`
}

// valid refuses what no file can be run with.
func (f *runFlags) valid() error {
	if f.workers < 1 {
		return usage("--workers %d is out of range: it must be at least 1", f.workers)
	}
	for _, name := range strings.Split(f.device, ",") {
		if name == "auto" {
			continue
		}
		if _, err := platform.Parse(strings.TrimSpace(name)); err != nil {
			return usage("--device: %w (or auto)", err)
		}
	}
	return nil
}

// devices are what the files are run on, one after the other: a test of a model
// takes all of them at once, one of a skill each by itself.
func (f *runFlags) devices() []string {
	names := strings.Split(strings.ToLower(strings.ReplaceAll(f.device, " ", "")), ",")
	if f.alone {
		return names
	}
	return []string{strings.Join(names, ",")}
}

// runGenerated runs the files of models, and prints what became of them.
func (a *app) runGenerated(ctx context.Context, f *runFlags, dir string, models []ran) error {
	if err := f.valid(); err != nil {
		return err
	}
	began := time.Now()
	var all []ran
	for _, device := range f.devices() {
		way := a.runFiles
		if f.alone && inPages(device) {
			way = a.runPages
		}
		on := slices.Clone(models)
		for i := range on {
			on[i].Device = device
		}
		if err := way(ctx, f, device, dir, on); err != nil {
			return err
		}
		if err := a.crossCheck(ctx, device, on); err != nil {
			return err
		}
		all = append(all, on...)
	}
	return a.tellRan(all, time.Since(began))
}

// artefacts makes what the files take from assay in one go, where they take
// anything: a child for each would take most of the time.
func (a *app) artefacts(ctx context.Context, f *runFlags, device string, models []ran) (dir string, done func(), err error) {
	done = func() {}
	if f.alone {
		return "", done, nil
	}
	for _, name := range strings.Split(device, ",") {
		if !tests.KeepsArtefacts(platform.Name(name)) {
			continue
		}
		if dir == "" {
			if dir, err = os.MkdirTemp("", "assay-artefacts-"); err != nil {
				return "", done, fmt.Errorf("make a folder for artefacts: %w", err)
			}
			done = func() { os.RemoveAll(dir) }
		}
		names := make([]string, len(models))
		for i, m := range models {
			names[i] = m.Model
		}
		// What cannot be exported is each file's own to say.
		if _, err := a.exported(ctx, dir, names, "--format", name, "--dtype", tests.DType(platform.Name(name)), "--batch", "1,2", "--workers", strconv.Itoa(f.workers)); err != nil {
			return dir, done, err
		}
	}
	return dir, done, nil
}

// crossCheck holds what the files came to against what is stored of their
// models on the same platform: the newest results of the same task, tiny, of the
// platform's own engine and dtype, alone and in a batch of two, as the files ask
// for both. What is partial there may be either.
func (a *app) crossCheck(ctx context.Context, device string, models []ran) error {
	p, ok := platform.Get(platform.Name(device))
	if !ok {
		a.say("not held against stored results: --device names no single platform")
		return nil
	}
	h, err := a.history()
	if err != nil {
		return err
	}
	newest, err := h.UsualVerdicts(ctx, p)
	if err != nil {
		return err
	}
	for i := range models {
		m := &models[i]
		m.Stored = newest[history.Head{Type: m.Model, Task: m.Task, Batch: 1}]
		m.Disagrees = disagreement(m.File, m.Stored, newest[history.Head{Type: m.Model, Task: m.Task, Batch: 2}])
	}
	return nil
}

// disagreement is how a file stands against what is stored of its model, alone
// and in a batch.
func disagreement(f pytests.File, alone, batch cell.Verdict) string {
	unasked := slices.ContainsFunc(f.Skipped, func(c pytests.Case) bool { return strings.HasPrefix(c.Test, "test_batch") })
	switch {
	case alone == cell.Fails && f.Green():
		return "the test passes, and the stored result fails"
	case batch == cell.Fails && f.Green() && !unasked:
		return "the test passes, and the stored result of a batch fails"
	case alone == cell.Works && batch != cell.Fails && len(f.Failed) > 0:
		return "the test fails, and the stored result works"
	}
	return ""
}

// tellRan prints a row for each pipeline, then what failed and what disagrees.
func (a *app) tellRan(models []ran, took time.Duration) error {
	green, red := 0, 0
	for _, m := range models {
		if m.Green() {
			green++
		} else if len(m.Failed) > 0 {
			red++
		}
	}
	if a.asJSON {
		if err := a.printJSON(generateRunAnswer{Schema: 1, Files: models, Passed: green, Failed: red, Skipped: len(models) - green - red, Seconds: took.Seconds()}); err != nil {
			return err
		}
	} else if err := a.printRan(models, green, red, took); err != nil {
		return err
	}
	if red > 0 {
		return &statusError{exitFails, nil}
	}
	return nil
}

func (a *app) printRan(models []ran, green, red int, took time.Duration) error {
	type sum struct{ files, green, red int }
	sums := map[string]*sum{}
	var order []string
	for _, m := range models {
		if sums[m.Pipeline] == nil {
			sums[m.Pipeline] = &sum{}
			order = append(order, m.Pipeline)
		}
		s := sums[m.Pipeline]
		s.files++
		if m.Green() {
			s.green++
		} else if len(m.Failed) > 0 {
			s.red++
		}
	}
	slices.Sort(order)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "PIPELINE\tFILES\tPASS\tFAIL\tSKIPPED\t")
	for _, name := range order {
		s := sums[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", orOther(name), s.files, s.green, s.red, s.files-s.green-s.red)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range models {
		for _, c := range m.Failed {
			fmt.Fprintf(a.stdout, "✗ %s on %s, %s: %s\n", filepath.Base(m.Name), m.Device, c.Test, shortened(c.Why, 150))
		}
	}
	for _, m := range models {
		if m.Disagrees != "" {
			fmt.Fprintf(a.stdout, "≠ %s: %s\n", m.Model, m.Disagrees)
		}
	}
	fmt.Fprintf(a.stdout, "\n%s in %s: %d pass, %d fail, %d skipped\n", counted(len(models), "file", "files"), took.Round(time.Second), green, red, len(models)-green-red)
	if known, works := matrixSays(models); known > 0 {
		fmt.Fprintf(a.stdout, "of %d with a stored result %d work there\n", known, works)
	}
	return nil
}

// matrixSays counts the models of which a result is stored, and those that work or
// are partial by it.
func matrixSays(models []ran) (known, works int) {
	for _, m := range models {
		switch m.Stored {
		case cell.Works, cell.Partial:
			known, works = known+1, works+1
		case cell.Fails:
			known++
		}
	}
	return known, works
}

func orOther(name string) string {
	if name == "" {
		return "other"
	}
	return name
}

package trial

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/internal/cell"
	"assay/internal/generate/tests"
	"assay/internal/platform"
	"assay/internal/pytests"
	"assay/internal/skillpages"
)

// Export exports models into a folder as "assay export" does with those flags,
// and returns the results of their checks. What cannot be exported is not an error.
type Export func(ctx context.Context, folder string, models []string, flags ...string) ([]cell.Result, error)

// RunFiles runs the tests of models on a device under pytest, and fills in what
// became of each.
func RunFiles(ctx context.Context, run pytests.Run, device string, models []Model) error {
	run.Options = append([]string{"--device", device}, run.Options...)
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	files, err := run.Files(ctx, names)
	if err != nil {
		return err
	}
	for i := range models {
		j := slices.IndexFunc(files, func(x pytests.File) bool { return x.Name == models[i].Name })
		models[i].File = files[j]
	}
	return nil
}

// MakeArtefacts makes what the tests of models take from Assay in one go, in a
// folder that done removes; "" where they take nothing: a child for each would
// take most of the time.
func MakeArtefacts(ctx context.Context, device string, workers int, models []Model, export Export) (dir string, done func(), err error) {
	done = func() {}
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
		if _, err := export(ctx, dir, names, "--format", name, "--dtype", tests.DType(platform.Name(name)), "--batch", "1,2", "--workers", strconv.Itoa(workers)); err != nil {
			return dir, done, err
		}
	}
	return dir, done, nil
}

// RunPages runs the tests of skills in a browser, on graphs that are exported for
// them, and fills in what became of each. missing says why there is no browser;
// "" where there is one. failed hears of a test that has no graph.
func RunPages(ctx context.Context, run skillpages.Run, missing string, models []Model, export Export, failed func(pytests.File)) error {
	for i := range models {
		switch {
		case missing != "":
			models[i].skip(missing)
		case !slices.Contains(models[i].Trial.Platforms, platform.Name(run.Platform)):
			models[i].skip("its skill is not for " + run.Platform)
		}
	}
	folder, err := os.MkdirTemp("", "assay-artefacts-")
	if err != nil {
		return fmt.Errorf("make a folder for artefacts: %w", err)
	}
	defer os.RemoveAll(folder)
	run.Artefacts = folder
	if err := exportGraphs(ctx, folder, models, export, failed); err != nil {
		return err
	}
	return tryPending(ctx, run, models)
}

// exportGraphs exports what the skills of models run, those of one length in one
// go. A skill whose graph is not exported has failed.
func exportGraphs(ctx context.Context, folder string, models []Model, export Export, failed func(pytests.File)) error {
	bySeq := map[int][]string{}
	for _, m := range models {
		if m.isPending() {
			bySeq[m.Trial.Seq] = append(bySeq[m.Trial.Seq], m.Model)
		}
	}
	why := map[string]string{}
	for seq, names := range bySeq {
		flags := []string{"--format", "web"}
		if seq > 0 {
			flags = append(flags, "--seq", strconv.Itoa(seq))
		}
		results, err := export(ctx, folder, names, flags...)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Failure != nil {
				why[r.Cell.Type] = fmt.Sprintf("%s: %s", r.Failure.Class, r.Failure.Detail)
			}
		}
	}
	for i, m := range models {
		if _, err := os.Stat(filepath.Join(folder, m.Trial.Artefact)); err != nil && m.isPending() {
			none := []pytests.Case{{Test: "(export)", Why: cmp.Or(why[m.Model], "assay export gave no graph")}}
			models[i].File = pytests.File{Name: m.Trial.Module, Skipped: []pytests.Case{}, Failed: none}
			failed(models[i].File)
		}
	}
	return nil
}

// tryPending makes the trials of those models of which nothing is said yet.
func tryPending(ctx context.Context, run skillpages.Run, models []Model) error {
	var (
		trials []skillpages.Trial
		of     []*Model
	)
	for i := range models {
		if m := &models[i]; m.isPending() {
			trials, of = append(trials, skillpages.Trial{Module: m.Trial.Module, Artefact: m.Trial.Artefact}), append(of, m)
		}
	}
	files, err := run.Modules(ctx, trials)
	for i, file := range files {
		of[i].File = file
	}
	return err
}

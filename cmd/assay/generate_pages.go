package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"assay/internal/platform"
	"assay/internal/pytests"
	"assay/internal/skillpages"
)

// inPages reports whether a device's skills run in a browser.
func inPages(device string) bool {
	p, ok := platform.Get(platform.Name(device))
	return ok && p.Engines[0].Traits().Pages
}

// runPages runs the tests of skills in a browser, on graphs that are exported
// for them, and fills in what became of each.
func (a *app) runPages(ctx context.Context, _ *runFlags, device, dir string, models []ran) error {
	m, err := a.maker()
	if err != nil {
		return err
	}
	web, err := m.OpenWeb(ctx, a.choice())
	if err != nil {
		return err
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return err
	}
	s, err := a.openSession(sessionOptions{}, cat)
	if err != nil {
		return err
	}
	defer s.Close()
	on := platform.Name(device)
	open, missing, err := s.Opener(ctx, platform.Target{Platform: on}.Normal())
	if err != nil {
		return err
	}
	for i := range models {
		switch {
		case missing != "":
			models[i].skip(missing)
		case !slices.Contains(models[i].trial.Platforms, on):
			models[i].skip("its skill is not for " + device)
		}
	}
	folder, err := os.MkdirTemp("", "assay-artefacts-")
	if err != nil {
		return fmt.Errorf("make a folder for artefacts: %w", err)
	}
	defer os.RemoveAll(folder)
	if err := a.graphs(ctx, folder, models); err != nil {
		return err
	}
	return tryAll(ctx, skillpages.Run{
		Skills: dir, Artefacts: folder, Runtime: filepath.Join(web.Package("onnxruntime-web"), "dist"),
		Platform: device, Open: open, Limit: pageLimit, Done: a.tellPage(device),
	}, models)
}

// pageLimit is how long the tests of one page may take: longer than those of a
// file, since a software adapter may need half a minute for an answer.
const pageLimit = 2 * fileLimit

// tellPage says what became of each page and how long it took: many take long.
func (a *app) tellPage(device string) func(pytests.File) {
	began := time.Now()
	return func(file pytests.File) {
		took := time.Since(began).Round(time.Second)
		began = time.Now()
		a.say(fmt.Sprintf("%s on %s: %d passed, %d skipped, %d failed in %s", file.Name, device, file.Passed, len(file.Skipped), len(file.Failed), took))
		a.tellFailed(file)
	}
}

// tryAll makes the trials of those models of which nothing is said yet.
func tryAll(ctx context.Context, run skillpages.Run, models []ran) error {
	var (
		trials []skillpages.Trial
		of     []*ran
	)
	for i := range models {
		if m := &models[i]; m.pending() {
			trials, of = append(trials, skillpages.Trial{Module: m.trial.Module, Artefact: m.trial.Artefact}), append(of, m)
		}
	}
	files, err := run.Modules(ctx, trials)
	for i, file := range files {
		of[i].File = file
	}
	return err
}

// pending reports whether nothing is said of the test yet.
func (r *ran) pending() bool { return r.Idle() && len(r.Skipped) == 0 }

// skip says why the test is not run.
func (r *ran) skip(why string) {
	r.File = pytests.File{Name: r.Name, Skipped: []pytests.Case{{Test: "(page)", Why: why}}, Failed: []pytests.Case{}}
}

// graphs exports what the skills of models run, those of one length in one go.
// A skill whose graph is not given out has failed.
func (a *app) graphs(ctx context.Context, folder string, models []ran) error {
	bySeq := map[int][]string{}
	for _, m := range models {
		if m.pending() {
			bySeq[m.trial.Seq] = append(bySeq[m.trial.Seq], m.Model)
		}
	}
	why := map[string]string{}
	for seq, names := range bySeq {
		how := []string{"--format", "web"}
		if seq > 0 {
			how = append(how, "--seq", strconv.Itoa(seq))
		}
		results, err := a.exported(ctx, folder, names, how...)
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
		if _, err := os.Stat(filepath.Join(folder, m.trial.Artefact)); err != nil && m.pending() {
			failed := []pytests.Case{{Test: "(export)", Why: cmp.Or(why[m.Model], "assay export gave no graph")}}
			models[i].File = pytests.File{Name: m.trial.Module, Skipped: []pytests.Case{}, Failed: failed}
			a.tellFailed(models[i].File)
		}
	}
	return nil
}

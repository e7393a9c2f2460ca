package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"assay/internal/platform"
	"assay/internal/pytests"
	"assay/internal/skillpages"
	"assay/internal/trial"
)

// runPages runs the tests of skills in a browser, and fills in what became of
// each.
func (a *app) runPages(ctx context.Context, _ *runFlags, device, dir string, models []trial.Model) error {
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
	open, missing, err := s.Opener(ctx, platform.Target{Platform: platform.Name(device)}.Normal())
	if err != nil {
		return err
	}
	run := skillpages.Run{
		Skills: dir, Runtime: filepath.Join(web.Package("onnxruntime-web"), "dist"),
		Platform: device, Open: open, Limit: pageLimit, Done: pagePrinter(device, a.say),
	}
	return trial.RunPages(ctx, run, missing, models, a.itself().export, failedPrinter(a.say))
}

// pageLimit is how long the tests of one page may take: longer than those of a
// file, since a software adapter may need half a minute for an answer.
const pageLimit = 2 * fileLimit

// pagePrinter says what became of each page and how long it took: many take long.
func pagePrinter(device string, say func(string)) func(pytests.File) {
	failed := failedPrinter(say)
	began := time.Now()
	return func(file pytests.File) {
		took := time.Since(began).Round(time.Second)
		began = time.Now()
		say(fmt.Sprintf("%s on %s: %d passed, %d skipped, %d failed in %s", file.Name, device, file.Passed, len(file.Skipped), len(file.Failed), took))
		failed(file)
	}
}

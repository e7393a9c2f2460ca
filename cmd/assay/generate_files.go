package main

import (
	"context"
	"fmt"
	"time"

	"assay/internal/pytests"
	"assay/internal/trial"
)

// runFiles runs the tests of models under pytest, and fills in what became of
// each.
func (a *app) runFiles(ctx context.Context, f *runFlags, device, dir string, models []trial.Model) error {
	m, err := a.maker()
	if err != nil {
		return err
	}
	env, err := m.Open(ctx, a.choice())
	if err != nil {
		return err
	}
	program, err := a.itself().shell()
	if err != nil {
		return err
	}
	run := pytests.Run{Python: env.Group, Program: program, Dir: dir, Workers: f.workers, Limit: fileLimit, Done: failedPrinter(a.say)}
	if !f.alone {
		artefacts, done, err := trial.MakeArtefacts(ctx, device, f.workers, models, a.itself().export)
		defer done()
		if err != nil {
			return err
		}
		if artefacts != "" {
			// As one word: pytest would take a folder behind a space for one of tests.
			run.Options = []string{"--artefacts=" + artefacts}
		}
	}
	return trial.RunFiles(ctx, run, device, models)
}

// fileLimit is how long the tests of one file may take.
const fileLimit = 5 * time.Minute

// failedPrinter says at once what is wrong with a file.
func failedPrinter(say func(string)) func(pytests.File) {
	return func(file pytests.File) {
		if len(file.Failed) > 0 {
			say(fmt.Sprintf("%s: %s: %s", file.Name, file.Failed[0].Test, file.Failed[0].Why))
		}
	}
}

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/pytests"
)

// runFiles runs the files of models under pytest, and fills in what became of
// each.
func (a *app) runFiles(ctx context.Context, f *runFlags, device, dir string, models []ran) error {
	m, err := a.maker()
	if err != nil {
		return err
	}
	env, err := m.Open(ctx, a.choice())
	if err != nil {
		return err
	}
	program, err := a.itself()
	if err != nil {
		return err
	}
	run := pytests.Run{
		Python: env.Group, Program: program, Dir: dir, Workers: f.workers, Limit: fileLimit,
		Options: []string{"--device", device}, Done: a.tellFailed,
	}
	artefacts, done, err := a.artefacts(ctx, f, device, models)
	defer done()
	if err != nil {
		return err
	}
	if artefacts != "" {
		// As one word: pytest would take a folder behind a space for one of tests.
		run.Options = append(run.Options, "--artefacts="+artefacts)
	}
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

// fileLimit is how long the tests of one file may take.
const fileLimit = 5 * time.Minute

// tellFailed says at once what is wrong with a file.
func (a *app) tellFailed(file pytests.File) {
	if len(file.Failed) > 0 {
		a.say(fmt.Sprintf("%s: %s: %s", file.Name, file.Failed[0].Test, file.Failed[0].Why))
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/cell"
	"assay/internal/doctor"
	"assay/internal/environment"
	"assay/internal/journal"
	"assay/internal/platform"
	"assay/internal/runner"
	"assay/internal/runner/python"

	"github.com/spf13/cobra"
)

func doctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [PLATFORM]",
		Short: "Check this machine and say how to fix what is wrong",
		Long: `Doctor checks folders, disk, Python, the environment, the runner, the database and the journals, and what each
platform needs: drivers and libraries; npm, the web environment and browsers for webgpu and webnn. It changes nothing.
PLATFORM is one of cpu, cuda, rocm, mps, openvino, qnn, webnn, webgpu; without one all are looked at.`,
		Example: `  assay doctor
  assay doctor cuda
  assay doctor webgpu`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var asked platform.Name
			if len(args) > 0 {
				p, err := platform.Parse(args[0])
				if err != nil {
					return usage("%w", err)
				}
				asked = p.Name
			}
			return a.doctor(c.Context(), asked)
		},
	}
}

func (a *app) doctor(ctx context.Context, asked platform.Name) error {
	folders, err := a.foldersToRead()
	if err != nil {
		return err
	}
	m := a.makerIn(folders)
	d := doctor.Live(folders, m, a.getenv, a.choice())
	d.Hello, d.Database, d.Journals = hello, a.databaseState, a.journalState
	r := doctor.Run(ctx, d, asked)
	if a.asJSON {
		err = a.printJSON(r)
	} else {
		err = r.WriteText(a.stdout)
	}
	if err == nil && !r.OK {
		return &statusError{exitProgram, nil}
	}
	return err
}

// hello starts the runner and has it do nothing once.
func hello(ctx context.Context, env environment.Environment) (doctor.Greeting, error) {
	r, err := python.Runner{Python: env.Python, Env: env.Environ(ctx)}.Start(ctx)
	if err != nil {
		return doctor.Greeting{}, err
	}
	defer r.Close()
	exit, err := r.Run(ctx, runner.Job{Kind: runner.NoopJob, Cell: cell.Cell{Type: "noop", Engine: platform.Noop}.Normal()}, nil)
	if err != nil {
		return doctor.Greeting{}, err
	}
	if exit.Outcome() != runner.Finished {
		return doctor.Greeting{}, fmt.Errorf("its child %s", exit)
	}
	h := r.Hello()
	return doctor.Greeting{
		Words: fmt.Sprintf("protocol %d, children by %s, a no-op child ran", h.Protocol, h.Start),
		Slow:  strings.Join(h.Notes, "; "),
	}, nil
}

func (a *app) databaseState(ctx context.Context) (string, error) {
	st, err := a.store()
	if err != nil {
		return "", err
	}
	rows, err := st.Query(ctx, "select count(*) as n from hardware_results")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%v results in %s", rows.Values[0][0], st.Path()), nil
}

func (a *app) journalState(context.Context) (string, error) {
	_, dir, err := a.paths()
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+journal.Extension))
	if err != nil {
		return "", err
	}
	lines := 0
	for _, f := range files {
		n, err := countLines(f)
		if err != nil {
			return "", err
		}
		lines += n
	}
	return fmt.Sprintf("%s with %s in %s", counted(len(files), "journal", "journals"), counted(lines, "line", "lines"), dir), nil
}

func countLines(path string) (int, error) {
	r, err := journal.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n := 0
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, err
		}
		n++
	}
	if problems := r.Problems(); len(problems) > 0 {
		return n, problems[0]
	}
	return n, nil
}

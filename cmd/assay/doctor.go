package main

import (
	"context"

	"assay/internal/doctor"
	"assay/internal/platform"

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
	folders, err := a.home().FoldersToRead()
	if err != nil {
		return err
	}
	s := a.openLook()
	defer s.Close()
	d := doctor.Live(folders, a.makerIn(folders), a.getenv, a.choice(), s.Sighting)
	d.Atlas = a.atlasState
	d.Database, d.Journals = a.home().DatabaseState, a.home().JournalState
	r := doctor.Run(ctx, d, asked)
	err = a.print(r, r.WriteText)
	if err == nil && !r.OK {
		return &statusError{exitProgram, nil}
	}
	return err
}

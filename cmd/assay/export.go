package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"assay/internal/artefact"
	"assay/internal/cell"
	"assay/internal/session"

	"github.com/spf13/cobra"
)

// exportFlags say what is exported and where it goes.
type exportFlags struct {
	carryFlags
	format, device, out string
	force, parts        bool
}

func exportCommand(a *app) *cobra.Command {
	f := &exportFlags{}
	c := &cobra.Command{
		Use:   "export MODEL…",
		Short: "Export a model to ONNX, OpenVINO IR, a QNN context, a graph for browsers or a Core ML package, and check it",
		Long: `Export turns models into what another engine reads, runs it here (or converts it, where it cannot run), compares
its outputs with torch's, and puts it into a folder, one for each model: the files, inputs.npz and reference.npz
(what torch gave for them), manifest.json (the recipe, versions and rewriting steps) and check.json (the result
of the check). What fails its check is not exported.
` + exitHelp,
		Example: `  assay export bert --format onnx --out exported
  assay export bert vit --format openvino --dtype int8 --out exported --force
  assay export bert --format web --out exported --force
  assay export t5 --parts --out exported
  assay export bert --format qnn --device sm8650 --out exported --force`,
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range []string{"platform", "plan", "strict"} {
				if c.Flags().Changed(name) {
					return usage("export has no --%s: --format and --device say what is made", name)
				}
			}
			return a.exportCells(c.Context(), f, args)
		},
	}
	f.add(c, "")
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "onnx", "onnx, openvino, qnn, coreml, or web (ONNX for browsers)")
	fs.StringVar(&f.device, "device", "", "for openvino CPU, GPU or NPU; for qnn a system such as sm8650")
	fs.StringVar(&f.out, "out", "", "the folder to write into")
	fs.IntVar(&f.opset, "opset", 0, "of the ONNX graph (default: the exporter's own)")
	fs.BoolVar(&f.parts, "parts", false, "as ONNX, in parts that run on their own: encoder, towers, projector, prompt pass, step with a cache")
	fs.BoolVar(&f.force, "force", false, "overwrite what is in the folder")
	for _, name := range []string{"platform", "plan", "strict"} {
		_ = fs.MarkHidden(name)
	}
	return c
}

// writer is what writes the requested format; the flags ask for the target
// that makes it.
func (f *exportFlags) writer() (artefact.Writer, error) {
	form, err := artefact.ParseFormat(f.format)
	if err != nil {
		return artefact.Writer{}, usage("%w", err)
	}
	target, err := form.Target(f.device)
	if err != nil {
		return artefact.Writer{}, usage("%w", err)
	}
	f.Targets, f.NoFallback = []string{target}, true
	return artefact.Writer{Out: f.out, Format: form, Force: f.force}, nil
}

// exportCells exports what is asked for, checks it and gives it out.
func (a *app) exportCells(ctx context.Context, f *exportFlags, args []string) error {
	w, err := f.writer()
	switch {
	case err != nil:
		return err
	case f.none(args):
		return usage("export needs a model: a type (bert), a checkpoint (bert-base-uncased), a folder, or a selector such as --key")
	case f.out == "":
		return usage("export needs a folder to write into: --out DIR")
	}
	if err := f.check(); err != nil {
		return err
	}
	s, plan, err := a.prepare(ctx, &f.carryFlags, args, cell.Functional)
	if err != nil {
		return err
	}
	defer s.Close()
	if w.Cache, err = a.home().Exports(); err != nil {
		return err
	}
	if f.parts {
		return a.exportParts(w, plan.Cells, func(c cell.Cell) (session.Parts, error) { return s.Parts(ctx, c, a.say) })
	}
	if err := w.CheckFree(plan.Cells); err != nil {
		return usage("%w", err)
	}
	rep, err := a.carryShowing(ctx, s, plan, "export")
	if err != nil {
		return err
	}
	given, err := w.WriteAll(rep.Results)
	if err != nil {
		return err
	}
	err = a.print(exportAnswer{Schema: 1, Exported: given, Results: rep.Results}, func(w io.Writer) error {
		writeExported(w, f.format, given, rep.Results)
		return nil
	})
	if err != nil {
		return err
	}
	if err := status(rep.Results, f.Strict); err != nil {
		return err
	}
	// What is not exported is not a success, --strict or not.
	if len(given) == 0 {
		return &statusError{exitUnavailable, nil}
	}
	return nil
}

func writeExported(w io.Writer, format string, all []artefact.Artefact, results []cell.Result) {
	for _, g := range all {
		fmt.Fprintf(w, "%s as %s %s: %s\n  %s\n  %s\n", g.Model, g.Format, g.DType, cell.Shown(g.Verdict, g.Evidence).Word(), g.Folder, strings.Join(g.Files, ", "))
		fmt.Fprintf(w, "  run it with %s\n", g.Run)
	}
	for _, r := range results {
		if r.Verdict == cell.Works || r.Verdict == cell.Partial {
			continue
		}
		why := r.Note
		if r.Failure != nil {
			why = fmt.Sprintf("%s: %s\n  %s", r.Failure.Class, r.Failure.Detail, r.Failure.Hint)
		}
		fmt.Fprintf(w, "%s as %s: %s, not exported\n  %s\n", r.Cell.Model(), format, r.Verdict, why)
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/exports"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

// format is what a model is exported to: the target that makes and checks it,
// and how a user runs it.
type format struct {
	name, target, run string
	same              bool // the graph itself is given out where the engine made none of its own
}

var formats = []format{
	{name: "onnx", target: "cpu/onnxruntime", run: `onnxruntime.InferenceSession("model.onnx")`},
	{name: "openvino", target: "openvino:CPU", run: `openvino.Core().compile_model("model.xml", "CPU")`},
	{name: "qnn", target: "qnn", run: "onnxruntime with onnxruntime-qnn: register the provider and load the file that holds its context"},
	{name: "web", target: "cpu/wasm", run: `ort.InferenceSession.create("model.onnx") of onnxruntime-web, on WebGPU, WebNN or WebAssembly`, same: true},
	{name: "coreml", target: "mps/coreml", run: `coremltools.models.MLModel("model.mlpackage")`},
}

// howto is how a user runs what was given out, with the setting that its check
// needed.
func (x format) howto(r cell.Result) string {
	if mode := r.Context.EngineSettings["snippets_mode"]; mode != "" {
		return strings.Replace(x.run, `"CPU")`, fmt.Sprintf(`"CPU", {"SNIPPETS_MODE": %q})`, mode), 1)
	}
	return x.run
}

// form is the format that was asked for.
func (f *exportFlags) form() (format, error) {
	i := slices.IndexFunc(formats, func(x format) bool { return x.name == f.format })
	if i < 0 {
		return format{}, usage("unknown format %q: the formats are onnx, openvino, qnn, web, coreml", f.format)
	}
	return formats[i], nil
}

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
		Short: "Give out a model as ONNX, OpenVINO IR, QNN context, graph for browsers or Core ML package, checked",
		Long: `Export turns models into what another engine reads, runs it here (or converts it, where it cannot run), compares
its outputs with torch's, and puts it into a folder, one for each model: the files, inputs.npz and reference.npz
(what torch gave for them), manifest.json (the recipe, versions and rewriting steps) and check.json (the result
of the check). What fails its check is not given out.
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
			return a.giveOut(c.Context(), f, args)
		},
	}
	f.add(c, "")
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "onnx", "onnx, openvino, qnn, coreml, or web: ONNX as browsers want it")
	fs.StringVar(&f.device, "device", "", "for openvino CPU, GPU or NPU; for qnn a system such as sm8650")
	fs.StringVar(&f.out, "out", "", "the folder to write into")
	fs.IntVar(&f.opset, "opset", 0, "of the ONNX graph (default: the exporter's own)")
	fs.BoolVar(&f.parts, "parts", false, "as ONNX, in parts that run on their own: encoder, towers, projector, prompt pass, step with a cache")
	fs.BoolVar(&f.force, "force", false, "write over what is in the folder")
	for _, name := range []string{"platform", "plan", "strict"} {
		_ = fs.MarkHidden(name)
	}
	return c
}

// target is where the format is made and checked.
func (f *exportFlags) target() (string, error) {
	form, err := f.form()
	target := form.target
	if err != nil || f.device == "" {
		return target, err
	}
	name, _, _ := strings.Cut(target, ":")
	if strings.Contains(name, "/") {
		return "", usage("--device does not go with %s: it is the same for every device", f.format)
	}
	return name + ":" + f.device, nil
}

func (a *app) giveOut(ctx context.Context, f *exportFlags, args []string) error {
	target, err := f.target()
	switch {
	case err != nil:
		return err
	case f.none(args):
		return usage("export needs a model: a type (bert), a checkpoint (bert-base-uncased), a folder, or a selector such as --key")
	case f.out == "":
		return usage("export needs a folder to write into: --out DIR")
	}
	f.Targets, f.NoFallback = []string{target}, true
	if err := f.check(); err != nil {
		return err
	}
	s, plan, err := a.prepare(ctx, &f.carryFlags, args, cell.Functional)
	if err != nil {
		return err
	}
	defer s.Close()
	if f.parts {
		return a.giveParts(ctx, f, s, plan.Cells)
	}
	for _, c := range plan.Cells {
		if err := f.free(c); err != nil {
			return err
		}
	}
	cache, err := a.exports()
	if err != nil {
		return err
	}
	progress := report.NewProgress(a.stderr, a.terminal, a.environ())
	rep, err := a.carry(ctx, s, plan, "export", progress)
	progress.Close()
	if err != nil {
		return err
	}
	given, err := f.giveAll(cache, rep.Results)
	if err != nil {
		return err
	}
	if a.asJSON {
		err = a.printJSON(exportAnswer{Schema: 1, Exported: given, Results: rep.Results})
	} else {
		f.print(a, given, rep.Results)
	}
	if err != nil {
		return err
	}
	if err := status(rep.Results, f.Strict); err != nil {
		return err
	}
	// What is not given out is no success, --strict or not.
	if len(given) == 0 {
		return &statusError{exitUnavailable, nil}
	}
	return nil
}

// folder is where a cell's files go. Cells that differ in settings have
// folders of their own.
func (f *exportFlags) folder(c cell.Cell) string {
	parts := []string{strings.ReplaceAll(c.Model(), "/", "--"), f.format, string(c.DType)}
	if c.Batch > 1 {
		parts = append(parts, fmt.Sprintf("b%d", c.Batch))
	}
	if c.Seq > 0 {
		parts = append(parts, fmt.Sprintf("s%d", c.Seq))
	}
	if c.Image > 0 {
		parts = append(parts, fmt.Sprintf("i%d", c.Image))
	}
	return filepath.Join(f.out, strings.Join(parts, "-"))
}

// free says before anything is run that a folder has something in it.
func (f *exportFlags) free(c cell.Cell) error {
	found, err := os.ReadDir(f.folder(c))
	if err == nil && len(found) > 0 && !f.force {
		return usage("%s holds files already: give --force to write over them, or another --out", f.folder(c))
	}
	return nil
}

// handedOut is one model that was given out.
type handedOut struct {
	Model   string       `json:"model"`
	Format  string       `json:"format"`
	DType   string       `json:"dtype"`
	Folder  string       `json:"folder"`
	Files   []string     `json:"files"`
	Verdict cell.Verdict `json:"verdict"`
	Run     string       `json:"run"` // how it is run
}

func (f *exportFlags) giveAll(cache exports.Cache, results []cell.Result) ([]handedOut, error) {
	out := []handedOut{}
	for _, r := range results {
		if r.Export == nil || r.Verdict != cell.Works && r.Verdict != cell.Partial {
			continue
		}
		g, err := f.give(cache, r)
		if err != nil {
			return out, err
		}
		out = append(out, g)
	}
	return out, nil
}

// give copies what the engine reads, and from the exported graph what a check
// elsewhere needs.
func (f *exportFlags) give(cache exports.Cache, r cell.Result) (handedOut, error) {
	folder := f.folder(r.Cell)
	form, err := f.form()
	if err != nil {
		return handedOut{}, err
	}
	if err := os.RemoveAll(folder); err != nil {
		return handedOut{}, fmt.Errorf("clear %s: %w", folder, err)
	}
	names, err := cache.Copy(r.Export.Prepared, folder)
	if err != nil {
		return handedOut{}, err
	}
	if r.Export.Prepared != r.Export.Key {
		wanted := []string{"inputs.npz", "reference.npz", exports.ManifestName}
		if form.same && !slices.Contains(names, graphFile) {
			wanted = append(wanted, graphFile, graphFile+".data")
		}
		more, err := cache.CopySome(r.Export.Key, folder, wanted...)
		if err != nil {
			return handedOut{}, err
		}
		names = append(names, more...)
	}
	check, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "check.json"), append(check, '\n'), 0o644)
	}
	if err != nil {
		return handedOut{}, fmt.Errorf("write the check: %w", err)
	}
	names = append(names, "check.json")
	slices.Sort(names)
	names = slices.Compact(names)
	return handedOut{r.Cell.Model(), f.format, string(r.Cell.DType), folder, names, r.Verdict, form.howto(r)}, nil
}

func (f *exportFlags) print(a *app, all []handedOut, results []cell.Result) {
	for _, g := range all {
		fmt.Fprintf(a.stdout, "%s as %s %s: %s\n  %s\n  %s\n", g.Model, g.Format, g.DType, g.Verdict, g.Folder, strings.Join(g.Files, ", "))
		fmt.Fprintf(a.stdout, "  run it with %s\n", g.Run)
	}
	for _, r := range results {
		if r.Verdict == cell.Works || r.Verdict == cell.Partial {
			continue
		}
		why := r.Note
		if r.Failure != nil {
			why = fmt.Sprintf("%s: %s\n  %s", r.Failure.Class, r.Failure.Detail, r.Failure.Hint)
		}
		fmt.Fprintf(a.stdout, "%s as %s: %s, not given out\n  %s\n", r.Cell.Model(), f.format, r.Verdict, why)
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"assay/internal/catalog"
	"assay/internal/hub"
	"assay/internal/plan"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

func fetchCommand(a *app) *cobra.Command {
	f := &hubFlags{}
	var revision string
	c := &cobra.Command{
		Use:   "fetch MODEL…",
		Short: "Download checkpoints into the Hugging Face cache before they are used",
		Long: `Fetch downloads what running a checkpoint needs: its configuration, its tokenizer and its weights
(safetensors; a pickle or the model's own code only when asked for). What is already in the cache
is not loaded again, an interrupted download is resumed, and every file is verified against its checksum.
MODEL is owner/name, owner/name@revision, or a checkpoint of the catalogue without its owner.

HF_ENDPOINT names a mirror, HF_TOKEN a token for gated and private models, HF_HUB_CACHE or HF_HOME
the cache. Its layout is that of Hugging Face's own libraries, so they share it: copy the folder to
a machine without a network, and --offline there prints what it has.

Exit status: 0 all are there; 1 one is not; 2 wrong usage; 130 interrupted, what was loaded is kept.`,
		Example: `  assay fetch bert-base-uncased
  assay fetch google-bert/bert-base-uncased@main whisper-tiny
  assay fetch bert-base-uncased --offline --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.fetch(c.Context(), f, revision, args) },
	}
	f.add(c)
	c.Flags().StringVar(&revision, "revision", "", "branch, tag or commit of a model that names none (default: main)")
	return c
}

func (a *app) fetch(ctx context.Context, f *hubFlags, revision string, args []string) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	var refs []hub.Ref
	for _, name := range args {
		ref, err := plan.Checkpoint(cat, name, revision)
		if err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	say, done := overwriting(a.env, a.say)
	defer done()
	h, err := f.open(a.env, say)
	if err != nil {
		return err
	}
	found := []hub.Snapshot{}
	for _, ref := range refs {
		s, err := h.Fetch(ctx, ref, f.want())
		if err != nil {
			if hub.IsMisuse(err) {
				return usage("%w", err)
			}
			return err
		}
		done()
		found = append(found, s)
		if !a.asJSON {
			if err := writeSnapshot(a.stdout, s); err != nil {
				return err
			}
		}
	}
	return a.print(fetchAnswer{Schema: 1, Models: found}, func(io.Writer) error { return nil }) // each was printed as it came
}

func writeSnapshot(out io.Writer, s hub.Snapshot) error {
	fmt.Fprintf(out, "%s at %s: commit %s\n  %s\n", s.Model, s.Revision, s.Commit, s.Folder)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, f := range s.Files {
		state := "already there"
		if f.Loaded {
			state = "loaded"
			if f.Checksum == "" {
				state = "loaded; the server gave no checksum"
			}
		}
		fmt.Fprintf(w, "%s\t  %s, %s\n", report.Bytes(f.Bytes), f.Name, state)
	}
	fmt.Fprintf(w, "%s\t  in %d files, %s loaded now\n", report.Bytes(s.Bytes), len(s.Files), report.Bytes(s.Loaded))
	return w.Flush()
}

// overwriting says sentences for the user: on a terminal each takes the place
// of the one before, elsewhere each is a line. done leaves the line empty.
func overwriting(e *env, line func(string)) (say func(string), done func()) {
	if !e.terminal {
		return line, func() {}
	}
	const wipe = "\r\x1b[K"
	return func(s string) { fmt.Fprint(e.stderr, wipe, s) }, func() { fmt.Fprint(e.stderr, wipe) }
}

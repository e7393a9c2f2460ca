package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"assay/internal/exports"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

// exportsLimit is how much exported models may take: ASSAY_EXPORTS_LIMIT, or
// the default.
func exportsLimit(getenv func(string) string) (int64, error) {
	n, err := exports.LimitFrom(getenv)
	if err != nil {
		return 0, usage("%w", err)
	}
	return n, nil
}

func cacheCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "List and remove cached exports of models",
		Long: `A model that runs on OpenVINO, QNN, ONNX Runtime, Core ML or in a browser (WebGPU, WebNN, WebAssembly) is
exported once and cached, with what each engine makes of it and whether its numbers were right (verdict),
so that the next run needs neither torch nor the exporter. A cached export is used again only with the
same model, weights, sizes and versions. The cache may take 20 GB (set ASSAY_EXPORTS_LIMIT to change it);
the least recently used exports go first, and never one that another process is using.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(cacheList(a), cacheRemove(a), cacheCollect(a))
	return c
}

func cacheList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ls [MODEL…]", Short: "List cached exports, the last used first",
		Example: `  assay cache ls
  assay cache ls bert --json`,
		RunE: func(_ *cobra.Command, args []string) error {
			cache, err := a.home().Exports()
			if err != nil {
				return err
			}
			all, err := cache.List()
			if err != nil {
				return err
			}
			found := exports.Choose(all, args)
			return a.print(cacheListAnswer{Schema: 1, Folder: cache.Dir, Entries: found}, func(w io.Writer) error { return writeEntries(w, cache.Dir, found) })
		},
	}
}

func writeEntries(out io.Writer, dir string, found []exports.Entry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var total int64
	for _, e := range found {
		total += e.Bytes
		state := ""
		switch {
		case e.Broken:
			state = "incomplete"
		case e.Failed != "":
			state = "could not be exported"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\tused %s\t%s\n", e.Key[:12], e.Kind, e.Model(), e.Size, report.Bytes(e.Bytes), ago(e.UsedAt), state)
	}
	fmt.Fprintf(w, "%s, %s in %s\n", counted(len(found), "entry", "entries"), report.Bytes(total), dir)
	return w.Flush()
}

// ago says how long since, in the largest unit.
func ago(t time.Time) string {
	d := time.Since(t)
	switch {
	case t.IsZero():
		return "never"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	case d >= time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d >= time.Minute:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	}
	return "now"
}

func cacheRemove(a *app) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "rm [MODEL|KEY…]", Short: "Remove cached exports of models",
		Example: `  assay cache rm bert
  assay cache rm --all`,
		RunE: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usage("cache rm needs models or keys, or --all")
			}
			cache, err := a.home().Exports()
			if err != nil {
				return err
			}
			done, err := cache.RemoveNamed(args)
			if unkept := (*exports.UnkeptError)(nil); errors.As(err, &unkept) {
				return usage("%w", err)
			}
			if done.Removed == nil {
				return err
			}
			return errors.Join(err, a.printRemoved(done))
		},
	}
	c.Flags().BoolVar(&all, "all", false, "everything")
	return c
}

func (a *app) printRemoved(done exports.Collected) error {
	return a.print(cacheRemoveAnswer{Schema: 1, Collected: done}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "removed %s, %s\n", counted(len(done.Removed), "entry", "entries"), report.Bytes(done.Freed))
		return err
	})
}

func cacheCollect(a *app) *cobra.Command {
	var limit string
	c := &cobra.Command{
		Use: "gc", Short: "Remove broken exports, and those over the limit",
		Example: `  assay cache gc
  assay cache gc --limit 5GB`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			n, err := exportsLimit(a.getenv)
			if limit != "" {
				if n, err = exports.ParseBytes(limit); err != nil {
					err = usage("--limit: %w", err)
				}
			}
			if err != nil {
				return err
			}
			cache, err := a.home().Exports()
			if err != nil {
				return err
			}
			done, err := cache.Collect(n)
			return errors.Join(err, a.printRemoved(done))
		},
	}
	c.Flags().StringVar(&limit, "limit", "", "how much may stay, such as 5GB (default: ASSAY_EXPORTS_LIMIT, else 20 GB)")
	return c
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/compare"
	"assay/internal/history"
	"assay/internal/platform"
	"assay/internal/report"
	"assay/internal/sides"
	"assay/internal/trend"

	"github.com/spf13/cobra"
)

func queryHistory(a *app) *cobra.Command {
	var model, on, since string
	var steps bool
	c := &cobra.Command{
		Use:   "history",
		Short: "How the speed of each cell went over time, and where it changed",
		Long: `History follows the median of each timed cell over its runs on one machine, and tells where its level changed: between
which two runs, by how much, and what of the recorded context changed there (versions, driver, threads, governor).
A step needs three runs on either side and at least 2.5 %; noise that leans on the run before it is allowed for.`,
		Example: `  assay query history
  assay query history --model bert --platform cpu --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if on != "" {
				if _, err := platform.Parse(on); err != nil {
					return usage("%w", err)
				}
			}
			var chosen history.Chosen
			if since != "" {
				at, err := sides.ParseDate(since)
				if err != nil {
					return err
				}
				chosen.Since = at
			}
			past, err := a.home().History()
			if err != nil {
				return err
			}
			entries, err := past.Entries(c.Context(), chosen)
			if err != nil {
				return err
			}
			list := trend.Of(slices.DeleteFunc(entries, func(e compare.Entry) bool { return !isOf(e, model, on) }))
			followed := len(list)
			if steps {
				list = slices.DeleteFunc(list, func(s trend.Series) bool { return len(s.Steps) == 0 })
			}
			return a.print(list, func(w io.Writer) error {
				if len(list) == 0 && followed > 0 {
					_, err := fmt.Fprintf(w, "no steps: the level of none of %s changed\n", counted(followed, "history", "histories"))
					return err
				}
				return report.WriteTrends(report.Terminal(w, a.environ()), list)
			})
		},
	}
	fs := c.Flags()
	fs.StringVar(&model, "model", "", "cells of this type or checkpoint")
	fs.StringVar(&on, "platform", "", "cells on this platform")
	fs.StringVar(&since, "since", "", "only runs since this day or moment in UTC")
	fs.BoolVar(&steps, "steps", false, "only cells whose level changed")
	return c
}

// isOf reports whether a result is of the model and platform that were asked for.
func isOf(e compare.Entry, model, on string) bool {
	x := e.Result.Cell.Normal()
	if model != "" && !slices.ContainsFunc([]string{x.Type, x.Model(), x.Checkpoint}, func(s string) bool { return strings.EqualFold(s, model) }) {
		return false
	}
	return on == "" || string(x.Platform) == on
}

package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand is for those who pack the program.
func manCommand(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "man", Short: "Write the manual pages", Hidden: true, Args: cobra.NoArgs,
		Long:    `Man writes a manual page for each command. SOURCE_DATE_EPOCH, in seconds since 1970, is the day that they bear.`,
		Example: "  assay man --out share/man/man1",
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := a.packedOn()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			c.Root().DisableAutoGenTag = true
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Section: "1", Source: "assay " + version, Manual: "Assay", Date: &at}, out)
		},
	}
	c.Flags().StringVar(&out, "out", "man1", "the folder to write into")
	return c
}

// packedOn is the day of what is packed: not today, so that packing twice gives the same bytes.
func (a *app) packedOn() (time.Time, error) {
	text := a.getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, usage("SOURCE_DATE_EPOCH is %q: it must be a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

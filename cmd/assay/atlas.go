package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/report"
	"assay/internal/site"

	"github.com/spf13/cobra"
)

func atlasCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "atlas", Short: "The published results that the program carries, and newer ones",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(atlasInfo(a), atlasQuality(a), atlasUpdate(a), atlasVerify(a), atlasReset(a), atlasDiff(a), atlasExport(a), atlasSite(a))
	return c
}

func atlasSite(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "site", Short: "Write the atlas as a static site",
		Long: `Site writes the atlas as a folder of pages: a search, the matrix, a page for each model and each target, the
findings, the method, the quality of the data, and the data as JSON and CSV. It works when index.html is opened from a
disk and behind any web server, and loads nothing from elsewhere. A folder that holds a site already is written over;
one that holds something else is refused.

Exit status: 0 written; 1 the program failed; 2 wrong usage.`,
		Example: `  assay atlas site --out atlas`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return usage("name the folder to write: --out DIR")
			}
			return a.writeSite(out)
		},
	}
	c.Flags().StringVar(&out, "out", "", "write the site into this folder")
	return c
}

// siteWritten is the top level of atlas site --json.
type siteWritten struct {
	Schema int    `json:"schema"`
	Folder string `json:"folder"`
	site.Written
}

func (a *app) writeSite(dir string) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	book, err := a.book()
	if err != nil {
		return err
	}
	w, err := site.Write(dir, site.Input{Catalog: cat, Book: book, Now: time.Now(), Assay: version})
	if err != nil {
		return err
	}
	return a.print(siteWritten{cell.Schema, dir, w}, func(out io.Writer) error {
		_, err := fmt.Fprintf(out, "wrote %d files, %s: open %s\n", w.Files, report.Bytes(w.Bytes), filepath.Join(dir, "index.html"))
		return err
	})
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/cell"

	"github.com/spf13/cobra"
)

// addLaws adds the flags of the laws that right models obey.
func (f *carryFlags) addLaws(c *cobra.Command) {
	c.Flags().BoolVar(&f.Laws, "laws", false, "also try the laws that a right model obeys, of tiny models on the CPU in fp32 (default: with --all --size tiny)")
	c.Flags().StringVar(&f.repro, "repro", "", "with --laws: write a script for each broken law, which shows it without Assay, into this folder")
}

// askLaws settles whether laws are tried, and makes the folder for scripts.
func (f *carryFlags) askLaws() error {
	if !f.flags.Changed("laws") {
		f.Laws = f.All && f.Size == cell.Tiny
	}
	if f.repro == "" {
		return nil
	}
	if !f.Laws {
		return usage("--repro writes scripts for broken laws: use it with --laws")
	}
	if err := os.MkdirAll(f.repro, 0o777); err != nil {
		return usage("--repro %s: %v", f.repro, err)
	}
	f.Scripts = true
	return nil
}

// writeScripts writes the scripts of broken laws into a folder, named by model
// and law.
func writeScripts(folder string, results []cell.Result) error {
	if folder == "" {
		return nil
	}
	var errs []error
	for _, r := range results {
		for _, l := range r.Broken() {
			if l.Script != "" {
				name := fmt.Sprintf("%s-%s.py", r.Cell.Type, l.Name)
				errs = append(errs, os.WriteFile(filepath.Join(folder, filepath.Base(name)), []byte(l.Script), 0o666))
			}
		}
	}
	return errors.Join(errs...)
}

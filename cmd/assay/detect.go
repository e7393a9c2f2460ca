package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"assay/internal/detect"
	"assay/internal/platform"
	"assay/internal/session"

	"github.com/spf13/cobra"
)

func detectCommand(a *app) *cobra.Command {
	var (
		names         []string
		root, capture string
		fresh, look   bool
	)
	c := &cobra.Command{
		Use:   "detect",
		Short: "What does this machine have, and how is that known?",
		Long: `Detect looks at the eight platforms and other accelerators. A first pass reads what the system shows
without any vendor library; a second asks torch and the other engines of the environment, each in
a child with a time limit, and the browsers that are here. It installs nothing: without an environment
it says what is unknown.`,
		Example: `  assay detect
  assay detect --platform cuda,rocm --json
  assay detect --capture this-machine
  assay detect --root this-machine`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			only, err := platforms(names)
			if err != nil {
				return err
			}
			if err := detect.KnownBrowsers(a.getenv(detect.BrowsersVariable)); err != nil {
				return usage("%w", err)
			}
			if capture != "" {
				return a.capture(c.Context(), capture)
			}
			if root != "" {
				r, err := detect.Captured(root)
				if err != nil {
					return &statusError{exitUsage, err}
				}
				return a.printDetected(r, only)
			}
			return a.detect(c.Context(), session.Asking{Look: look, Fresh: fresh, Forget: fresh, Browsers: inBrowsers(only), Warn: a.say}, only)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&names, "platform", nil, "only these platforms")
	f.StringVar(&root, "root", "", "detect the captured machine in this folder")
	f.StringVar(&capture, "capture", "", "write a fixture of this machine into this folder, without serial numbers, names or addresses")
	f.BoolVar(&fresh, "fresh", false, "ask the engines and check the processor again instead of using the cache")
	f.BoolVar(&look, "look", false, "the first pass only: start no child")
	return c
}

// inBrowsers reports whether any of the platforms lives in browsers; no names
// are all.
func inBrowsers(names []platform.Name) bool {
	return len(names) == 0 || slices.Contains(names, platform.WebNN) || slices.Contains(names, platform.WebGPU)
}

func platforms(names []string) ([]platform.Name, error) {
	var out []platform.Name
	for _, n := range names {
		if n == "all" {
			return platform.Names(), nil
		}
		p, err := platform.Parse(n)
		if err != nil {
			return nil, usage("%w", err)
		}
		out = append(out, p.Name)
	}
	return out, nil
}

// detect prints what this machine has, and journals it unless it was only looked at.
func (a *app) detect(ctx context.Context, how session.Asking, only []platform.Name) error {
	s, err := a.openLook(), error(nil)
	if !how.Look {
		s, err = a.openPresentSession(nil)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Detect(ctx, how)
	if err != nil {
		return err
	}
	if !how.Look {
		dir, err := a.home().JournalsToWrite(ctx)
		if err == nil {
			err = s.JournalDetection(dir, r)
		}
		if err != nil {
			a.say("warning: this detection is not stored: " + err.Error())
		}
	}
	return a.printDetected(r, only)
}

// openLook opens a session that looks at the machine and starts nothing.
func (a *app) openLook() *session.Session {
	return session.New(session.Options{Machine: a.machine, Answers: a.engines})
}

func (a *app) capture(ctx context.Context, dir string) error {
	s, err := a.openPresentSession(nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Capture(ctx, dir, session.Asking{Browsers: true}); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "captured this machine into %s; look through it before you share it\n", dir)
	return nil
}

func (a *app) printDetected(r detect.Report, only []platform.Name) error {
	r = r.Only(only...)
	return a.print(r, func(w io.Writer) error {
		return detect.Text(w, r, detect.TextOptions{Width: a.width, Colour: a.colour, UTF8: detect.UTF8Locale(os.LookupEnv), Evidence: a.verbose})
	})
}

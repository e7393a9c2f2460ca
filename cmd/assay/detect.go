package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"assay/internal/browser"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/journal"
	"assay/internal/platform"

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
			r, err := a.detect(c.Context(), root, asking{fresh: fresh, forget: fresh, look: look, browsers: inBrowsers(only)})
			if err != nil {
				return err
			}
			if root == "" && !look {
				if err := a.journalDetection(c.Context(), r); err != nil {
					a.say("warning: this detection is not stored: " + err.Error())
				}
			}
			r = r.Only(only...)
			if a.asJSON {
				return a.printJSON(r)
			}
			return detect.Text(a.stdout, r, detect.TextOptions{Width: a.width, Colour: a.colour, UTF8: detect.UTF8Locale(os.LookupEnv), Evidence: a.verbose})
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

// asking is how much the second pass does.
type asking struct {
	fresh    bool // ask again
	forget   bool // forget what jobs have shown of the processor
	look     bool // leave it out
	browsers bool // start browsers
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

// detect does what the flags ask for. It never installs anything.
func (a *app) detect(ctx context.Context, root string, how asking) (detect.Report, error) {
	if root != "" {
		m, answers, err := detect.Open(root)
		if err != nil {
			return detect.Report{}, &statusError{exitUsage, err}
		}
		return detect.Judge(detect.Look(m), answers), nil
	}
	m := detect.Live()
	if how.look {
		return detect.JudgeFirst(detect.Look(m)), nil
	}
	answers, err := a.ask(ctx, m, how)
	if err != nil {
		return detect.Report{}, err
	}
	return detect.Judge(detect.Look(m), answers), ctx.Err()
}

// journalDetection journals a detection, so that the view hardware_detection knows it.
func (a *app) journalDetection(ctx context.Context, r detect.Report) error {
	dir, err := a.journalsToWrite(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	run := cell.Run{ID: journal.NewRunID(now), StartedAt: now, Command: "detect", Assay: version}
	j, err := journal.Create(dir, journal.Header{Schema: journal.Schema, Run: run, Host: r.Host})
	if err != nil {
		return err
	}
	_, err = j.AppendDetection(now, body)
	if err == nil {
		err = j.End()
	}
	return errors.Join(err, j.Close())
}

// ask is the second pass: the engines of the environment and the browsers; nil
// where neither are.
func (a *app) ask(ctx context.Context, m *detect.Machine, how asking) (detect.Answers, error) {
	maker, err := a.maker()
	if err != nil {
		return nil, err
	}
	answers, err := a.askEngines(ctx, maker, m, how)
	if err != nil {
		return nil, err
	}
	browsers, err := a.askBrowsers(ctx, maker, m, how)
	if err != nil || len(browsers) == 0 {
		return answers, err
	}
	maps.Copy(browsers, answers)
	return browsers, nil
}

// keptBrowsers are the versions of browsers that are known without starting
// one; where that cannot be told, none.
func (a *app) keptBrowsers(ctx context.Context) map[string]string {
	maker, err := a.maker()
	if err != nil {
		return nil
	}
	answers, err := a.askBrowsers(ctx, maker, detect.Live(), asking{})
	if err != nil {
		return nil
	}
	return answers.BrowserVersions()
}

// askBrowsers asks the installed browsers and the one of the web environment.
// When they are not to be started, what they said last is taken.
func (a *app) askBrowsers(ctx context.Context, maker *environment.Maker, m *detect.Machine, how asking) (detect.Answers, error) {
	f, err := a.folders()
	if err != nil {
		return nil, err
	}
	web, err := maker.FindWeb()
	if err != nil && !errors.Is(err, environment.ErrNoWeb) {
		return nil, err
	}
	return browser.Asking{Machine: m, Web: web, Cache: f.Detections(), Fresh: how.fresh, Kept: !how.browsers}.Answers(ctx), nil
}

// askEngines asks the environment; nil where none is installed.
func (a *app) askEngines(ctx context.Context, maker *environment.Maker, m *detect.Machine, how asking) (detect.Answers, error) {
	choice := a.choice()
	choice.NoSetup = true
	env, err := maker.Open(ctx, choice)
	if environment.IsKind(err, environment.Forbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := a.folders()
	if err != nil {
		return nil, err
	}
	cache := detect.NewCache(f.Detections(), env.Python, detect.Look(m))
	cache.Fresh = how.fresh
	if how.forget {
		if err := env.ForgetInstructions(); err != nil {
			a.say("warning: what is known about the processor's instruction sets was kept: " + err.Error())
		}
	}
	executes := env.Instructions(ctx) // before the questions, which have limits of their own
	return detect.Confirm(ctx, cache.Around(detect.PythonChild(env.Command)), detect.Questions()).WithInstructions(executes), nil
}

func (a *app) capture(ctx context.Context, dir string) error {
	m := detect.Live()
	answers, err := a.ask(ctx, m, asking{fresh: true, browsers: true})
	if err != nil {
		return err
	}
	if err := detect.Capture(dir, m, answers); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "captured this machine into %s; look through it before you share it\n", dir)
	return nil
}

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"assay/internal/clean"
	"assay/internal/environment"

	"github.com/spf13/cobra"
)

// version is set when the program is built (-ldflags -X).
var version = "dev"

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  assay version",
		RunE: func(*cobra.Command, []string) error {
			if a.asJSON {
				return a.printJSON(versionAnswer{Schema: 1, Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH})
			}
			fmt.Fprintf(a.stdout, "assay %s (%s, %s/%s)\n", version, goVersion(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

func goVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.GoVersion
	}
	return runtime.Version()
}

// printJSON writes one indented object on standard output.
func (a *app) printJSON(v any) error {
	return clean.WriteJSON(a.stdout, v, "  ")
}

func setupCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "setup", Short: "Install the managed Python environment (other commands do so when they first need it)",
		Args: cobra.NoArgs,
		Example: `  assay setup
  assay setup --python .venv/bin/python   # check your own instead
  assay setup web                         # what pages in browsers need`,
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := a.maker()
			if err != nil {
				return err
			}
			env, err := m.Open(c.Context(), a.choice())
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(setupAnswer{1, env})
			}
			fmt.Fprintf(a.stdout, "ready: %s\n", env.Python)
			for _, name := range []string{"python", "torch", "transformers"} {
				fmt.Fprintf(a.stdout, "  %s %s\n", name, orNone(env.Versions[name]))
			}
			for _, name := range env.Missing {
				fmt.Fprintf(a.stdout, "  %s is absent\n", name)
			}
			return nil
		},
	}
	c.AddCommand(setupWebCommand(a))
	return c
}

func setupWebCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "web", Short: "Install the web environment: the packages that pages load and, on Linux x86-64, a Chromium",
		Long: `Setup web installs, with npm and from a lock file, the packages that Assay's pages load in a browser, and on
Linux x86-64 a headless Chromium. Nothing is installed outside Assay's data folder.
Other commands do so when they first need it.`,
		Args: cobra.NoArgs,
		Example: `  assay setup web
  assay setup web --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := a.maker()
			if err != nil {
				return err
			}
			w, err := m.OpenWeb(c.Context(), a.choice())
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(setupWebAnswer{1, w, w.Chromium()})
			}
			fmt.Fprintf(a.stdout, "ready: %s\n", w.Dir)
			for _, name := range []string{"onnxruntime-web", "@huggingface/transformers", "chromium"} {
				fmt.Fprintf(a.stdout, "  %s %s\n", name, orNone(w.Versions[name]))
			}
			return nil
		},
	}
}

func orNone(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

func (a *app) maker() (*environment.Maker, error) {
	f, err := a.folders()
	if err != nil {
		return nil, err
	}
	return a.makerIn(f), nil
}

func (a *app) makerIn(f environment.Folders) *environment.Maker {
	return environment.New(f, a.environ(), a.say).OnProcessor(a.cpuinfo).Passing(a.pass...)
}

// choice is which environment the user asked for.
func (a *app) choice() environment.Choice {
	return environment.Choice{Python: a.python, NoSetup: a.noSetup}
}

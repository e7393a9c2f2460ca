package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"assay/internal/environment"
	"assay/internal/store"

	"github.com/spf13/cobra"
)

// version is set when the program is built (-ldflags -X).
var version = "dev"

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  assay version",
		RunE: func(*cobra.Command, []string) error {
			answer := versionAnswer{Schema: 1, Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, DuckDB: store.Indexed}
			return a.print(answer, func(w io.Writer) error {
				without := ""
				if !store.Indexed {
					without = ", without DuckDB"
				}
				_, err := fmt.Fprintf(w, "assay %s (%s, %s/%s%s)\n", version, goVersion(), runtime.GOOS, runtime.GOARCH, without)
				return err
			})
		},
	}
}

func goVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.GoVersion
	}
	return runtime.Version()
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
			return a.print(setupAnswer{1, env}, func(w io.Writer) error { return writeEnvironment(w, env) })
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
			return a.print(setupWebAnswer{1, w, w.Chromium()}, func(out io.Writer) error {
				return writeReady(out, w.Dir, w.Versions, "onnxruntime-web", "@huggingface/transformers", "chromium")
			})
		},
	}
}

func writeEnvironment(w io.Writer, env environment.Environment) error {
	err := writeReady(w, env.Python, env.Versions, "python", "torch", "transformers")
	for _, name := range env.Missing {
		fmt.Fprintf(w, "  %s is absent\n", name)
	}
	return err
}

// writeReady says where an environment is, and which versions it has.
func writeReady(w io.Writer, where string, versions map[string]string, names ...string) error {
	_, err := fmt.Fprintf(w, "ready: %s\n", where)
	for _, name := range names {
		fmt.Fprintf(w, "  %s %s\n", name, orNone(versions[name]))
	}
	return err
}

func orNone(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

// maker makes environments in this user's folders.
func (a *app) maker() (*environment.Maker, error) {
	f, err := a.home().Folders()
	if err != nil {
		return nil, err
	}
	return a.makerIn(f), nil
}

func (a *app) makerIn(f environment.Folders) *environment.Maker {
	if a.made != nil {
		return a.made
	}
	return environment.New(f, a.environ(), a.say).OnProcessor(a.cpuinfo).Passing(a.pass...)
}

// choice is which environment the user asked for.
func (a *app) choice() environment.Choice {
	return environment.Choice{Python: a.python, NoSetup: a.noSetup}
}

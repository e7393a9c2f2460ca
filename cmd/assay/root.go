package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"assay/internal/clean"
	"assay/internal/environment"
	"assay/internal/home"
	"assay/internal/release"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is what every command shares: the outside and the global flags.
type app struct {
	*env
	db      string
	python  string
	noSetup bool
	pass    []string // variables for children
	verbose bool
	asJSON  bool
	log     *slog.Logger
	globals *pflag.FlagSet // all of these

	made *environment.Maker // makes environments in place of the usual one; nil is that
	used *release.InUse     // the environment in use, once it was asked for
}

func root(e *env) *cobra.Command { return (&app{env: e}).root() }

func (a *app) root() *cobra.Command {
	e := a.env
	cmd := &cobra.Command{
		Use:   "assay",
		Short: "Does this model really work on that hardware, how well, and how do you know?",
		Long: `Assay is "can I use" for machine-learning models, with proof: for any Hugging Face model
and any of eight hardware platforms it says whether it really works there and how well,
by running it, and each number carries its evidence.`,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.log = e.logger(a.verbose)
			return checkPassed(a.pass, a.environ(), a.say)
		},
	}
	cmd.SetIn(e.stdin)
	cmd.SetOut(e.stdout)
	cmd.SetErr(e.stderr)
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%s%s (see \"%s --help\")", sayPlainly(err), suggestFlag(c, err), c.CommandPath())
	})
	f := cmd.PersistentFlags()
	a.globals = f
	f.StringVar(&a.db, "db", "", "database file; its journals are stored beside it (default: assay.duckdb in the data folder)")
	f.StringVar(&a.python, "python", "", "use this Python and its packages instead of the managed environment; ASSAY_PYTHON names the Python that one is made from")
	f.BoolVar(&a.noSetup, "no-setup", false, "never install anything (also ASSAY_OFFLINE=1)")
	f.StringSliceVar(&a.pass, "env", nil, "also pass this environment variable to children; they get paths, proxies and settings of devices and libraries, but no secrets")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "print more (also LOGLEVEL=DEBUG)")
	f.BoolVar(&a.asJSON, "json", false, "print JSON")
	for _, make := range []func(*app) *cobra.Command{
		canIUseCommand, atlasCommand, detectCommand, setupCommand, doctorCommand, modelsCommand, fetchCommand, testCommand, benchCommand, matrixCommand, exportCommand, generateCommand, verifyCommand, tuneCommand,
		compareCommand, baselineCommand, bisectCommand, queryCommand, reportCommand, serveCommand, coordinatorCommand, fleetCommand, importCommand, contributeCommand, dbCommand, cacheCommand, manCommand, versionCommand,
	} {
		c := make(a)
		checkArgs(c)
		plainDefaults(c)
		cmd.AddCommand(c)
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("unknown command %q%s (see \"assay --help\")", args[0], suggestCommand(c, args[0]))
		}
		return nil
	}
	cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return cmd
}

// plainDefaults writes the defaults of lists as users type them, for a command
// and those below it: auto, and not [auto].
func plainDefaults(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if inner, ok := strings.CutPrefix(f.DefValue, "["); ok && f.DefValue != "[]" {
			f.DefValue = strings.TrimSuffix(inner, "]")
		}
	})
	for _, sub := range c.Commands() {
		plainDefaults(sub)
	}
}

// checkArgs makes an unknown word or a wrong count of arguments wrong usage,
// for a command and those below it.
func checkArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error { return asUsage(c, check(c, args)) }
	}
	for _, sub := range c.Commands() {
		checkArgs(sub)
	}
}

// checkPassed refuses what is not a variable's name, and says which has no value.
func checkPassed(names, environ []string, say func(string)) error {
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "= \t\n") {
			return usage("--env %q: give only the name of a variable; its value is taken from this shell", name)
		}
	}
	for _, name := range environment.Unset(environ, names) {
		say("--env " + name + ": it is not set, so children do not get it")
	}
	return nil
}

func asUsage(c *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usage("%s%s (see \"%s --help\")", sayPlainly(err), suggestSubcommand(c, err), c.CommandPath())
}

// home is where this user's data are.
func (a *app) home() home.Home { return home.Home{Getenv: a.getenv, DB: a.db, Say: a.say} }

// print prints an answer: as JSON if that was asked for, else in words.
func (a *app) print(answer any, inWords func(io.Writer) error) error {
	if a.asJSON {
		return clean.WriteJSON(a.stdout, answer, "  ")
	}
	return inWords(a.stdout)
}

// say prints a line for people on stderr.
func (a *app) say(text string) { fmt.Fprintln(a.stderr, clean.Text(text)) }

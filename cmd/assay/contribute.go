package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/clean"
	"assay/internal/contribution"
	"assay/internal/gist"
	"assay/internal/input"
	"assay/internal/wholefile"

	"github.com/spf13/cobra"
)

const contributeHelp = `Contribute writes one file of what your own results add to the atlas: results that contradict it, and results of
what it does not know or knows less surely. It sends nothing. Host and user names, addresses and paths are taken out, absolute, relative,
of a share or of a home; logs are left out. The file is text: read it, then attach it to an issue or a pull request of the
project. docs/atlas.md says how it is reviewed. Imported results, checkpoints and your own models are not in it.

With --check it looks at a file that somebody made, and lists what is in it: one that is not whole, claims what no result can say, or
still has a path or an address in it is refused.

Exit status: 0 a file was written, or there is nothing to contribute, or the file is right; 1 the program failed; 2 wrong usage, or
the file is not a contribution.`

func contributeCommand(a *app) *cobra.Command {
	var out, check string
	var force bool
	c := &cobra.Command{
		Use: "contribute", Short: "Write what your results add to the atlas into a file, to read and to send",
		Long: contributeHelp,
		Example: `  assay contribute --out contribution.json --force
  assay contribute --check contribution.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			checking := c.Flags().Changed("check")
			switch {
			case checking && (c.Flags().Changed("out") || force):
				return usage("--check writes nothing: give it without --out and --force")
			case checking:
				return a.checkContribution(c.Context(), check)
			}
			return a.contribute(out, force)
		},
	}
	c.Flags().StringVar(&out, "out", "contribution.json", "the file to write; - is standard output")
	c.Flags().BoolVar(&force, "force", false, "replace the file")
	c.Flags().StringVar(&check, "check", "", "look at this contribution, and write none")
	return c
}

func (a *app) contribute(out string, force bool) error {
	f, err := a.contribution()
	if err != nil {
		return err
	}
	if len(f.Results) == 0 {
		a.say("your results add nothing to the atlas: nothing is written")
		return nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return err
	}
	if out == input.Stdin {
		_, err := a.stdout.Write(text.Bytes())
		return err
	}
	err = wholefile.Write(out, text.Bytes(), wholefile.Options{Mode: 0o644, New: !force})
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there already: name another file with --out, or give --force", out)
	}
	if err == nil {
		a.say(fmt.Sprintf("%s: %s; read it before you send it (docs/atlas.md)", out, contributed(f)))
	}
	return err
}

// contributed says what is in a contribution.
func contributed(f contribution.File) string {
	n := map[string]int{}
	for _, r := range f.Results {
		n[r.Why]++
	}
	return fmt.Sprintf("%d results that contradict the atlas, %d that extend it", n[contribution.Contradicts], n[contribution.Extends])
}

// contribution is that of all own results.
func (a *app) contribution() (contribution.File, error) {
	var none contribution.File
	dir, err := a.home().Journals()
	if err != nil {
		return none, err
	}
	cat, err := catalog.Load()
	if err != nil {
		return none, err
	}
	book, err := a.book()
	if err != nil {
		return none, err
	}
	g, err := gist.Open(dir)
	if err != nil {
		return none, err
	}
	defer g.Close()
	var own []contribution.Own
	for _, t := range g.Types() {
		e, ok := cat.Get(t)
		if !ok {
			continue
		}
		results, err := g.Of(t)
		if err != nil {
			return none, err
		}
		o := contribution.Own{Model: atlas.Model{Name: t, Type: t, Task: e.Task}}
		for _, r := range results {
			o.Results = append(o.Results, atlas.Own{Result: r.Result, Host: r.Host.ID, Imported: r.Imported})
			o.Hosts = append(o.Hosts, r.Host)
		}
		own = append(own, o)
	}
	for _, p := range g.Problems() {
		a.say("not all of your own results can be read: " + p)
	}
	return contribution.Make(book, own, contribution.NewScrubber(a.ownNames()...), version)
}

// ownNames are what this machine and its user are called.
func (a *app) ownNames() []string {
	names := []string{a.getenv("USER"), a.getenv("USERNAME"), a.getenv("LOGNAME"), a.getenv("HOME"), a.getenv("USERPROFILE"), a.getenv("COMPUTERNAME")}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	if u, err := user.Current(); err == nil {
		names = append(names, u.Username, u.Name, u.HomeDir)
	}
	return names
}

func (a *app) checkContribution(ctx context.Context, path string) error {
	text, err := given(ctx, path, "a file that assay contribute wrote", a.stdin, contribution.Most)
	if err != nil {
		return err
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	f, err := contribution.Validate(text, cat)
	if err != nil {
		return usage("%s is refused: %w", path, err)
	}
	for _, r := range f.Results {
		fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf("%s: %s on %s in %s %s, %s; the atlas: %s", r.Why, r.Type, r.Target, r.DType, r.Verdict, r.Evidence, r.Atlas)))
	}
	fmt.Fprintln(a.stdout, contributed(f))
	return nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/atlas"
	"assay/internal/cell"
	"assay/internal/edition"
	"assay/internal/environment"
	"assay/internal/input"
	"assay/internal/wholefile"

	"github.com/spf13/cobra"
)

// publisher is the public key that a released program trusts, set when it is built
// (-ldflags "-X main.publisher=RW…"). Its private half is nobody's but the publisher's.
var publisher = ""

// keyVariable names a public key that is trusted too.
const keyVariable = "ASSAY_ATLAS_KEY"

const atlasStatuses = `

Exit status: 0 done; 1 the program failed; 2 wrong usage, or a file that is not what it should be.`

func atlasUpdate(a *app) *cobra.Command {
	var key string
	var older bool
	c := &cobra.Command{
		Use: "update FILE|URL", Short: "Use a newer atlas, signed by its publisher",
		Long: `Update installs an atlas in the place of the one that the program carries. Beside the file, or under the address, with .minisig
after its name must be its signature in the format of minisign, by a key that is trusted: that of --key, of ` + keyVariable + `, or the one
that the program was built with. Signature and contents are checked before anything is written; whatever happens meanwhile, the
atlas in use stays until the new one is complete. Nothing else ever asks for a newer atlas.` + atlasStatuses,
		Example: `  assay atlas update atlas.jsonl.br --key publisher.pub`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.updateAtlas(c.Context(), args[0], key, older) },
	}
	c.Flags().StringVar(&key, "key", "", "the publisher's public key, or a file with it")
	c.Flags().BoolVar(&older, "older", false, "install it even if its newest result is older than the newest here")
	return c
}

// trusted are the keys of publishers.
func (a *app) trusted(named string) ([]edition.Key, error) {
	var out []edition.Key
	for _, k := range []struct{ where, text string }{{"--key", named}, {keyVariable, a.getenv(keyVariable)}, {"the program's own key", publisher}} {
		if k.text == "" {
			continue
		}
		key, err := edition.ParseKey(k.text)
		if err != nil {
			return nil, usage("%s: %w", k.where, err)
		}
		out = append(out, key)
	}
	return out, nil
}

func (a *app) updateAtlas(ctx context.Context, place, key string, older bool) error {
	keys, err := a.trusted(key)
	if err != nil {
		return err
	}
	v, err := a.verifiedAtlas(ctx, place, keys)
	if err != nil {
		return err
	}
	in, err := a.book()
	if err != nil {
		return err
	}
	now, err := in.Quality()
	if err != nil {
		return err
	}
	if v.Quality.Newest.Before(now.Newest) && !older {
		return usage("%s ends on %s, and the atlas in use on %s: --older installs it", edition.Shown(place), v.Quality.Newest.Format(time.DateOnly), now.Newest.Format(time.DateOnly))
	}
	d, err := atlas.Diff(in, v.Book)
	if err != nil {
		return err
	}
	shelf, err := a.shelf()
	if err != nil {
		return err
	}
	if err := shelf.Install(v); err != nil {
		return fmt.Errorf("the atlas is not installed, and the one before it is in use: %w", err)
	}
	a.say(fmt.Sprintf("installed %.12s, signed by key %s: gained %d, lost %d, changed %d", v.Hash, v.Key, d.Counts["gained"], d.Counts["lost"], len(d.Changes)-d.Counts["gained"]-d.Counts["lost"]))
	for _, l := range atlas.Lowered(now, v.Quality) {
		a.say("less is measured than before: " + l)
	}
	return nil
}

func (a *app) verifiedAtlas(ctx context.Context, place string, keys []edition.Key) (edition.Verified, error) {
	if len(keys) == 0 {
		return edition.Verified{}, usage("%w", &edition.SignatureError{})
	}
	file, signature, err := a.signedAtlas(ctx, place)
	if err != nil {
		return edition.Verified{}, err
	}
	v, err := edition.Verify(file, signature, keys...)
	if err != nil {
		return v, usage("%s: %w", edition.Shown(place), err)
	}
	return v, nil
}

// signedAtlas reads an atlas and its signature.
func (a *app) signedAtlas(ctx context.Context, place string) (file, signature []byte, err error) {
	if !edition.IsAddress(place) {
		if file, err = given(ctx, place, "the atlas, with its signature beside it", nil, edition.Most); err == nil {
			signature, err = given(ctx, place+edition.Ending, "an atlas whose publisher's signature lies beside it", nil, edition.MostSignature)
		}
		return file, signature, err
	}
	if a.noSetup || environment.On(a.getenv("ASSAY_OFFLINE")) {
		return nil, nil, usage("%s is on the network, which --no-setup and ASSAY_OFFLINE forbid: name a file", edition.Shown(place))
	}
	file, signature, err = edition.Fetch(ctx, place)
	wrong, large := (*edition.AddressError)(nil), (*input.LargeError)(nil)
	if errors.As(err, &wrong) || errors.As(err, &large) {
		err = usage("%w: name the address of an atlas", err)
	}
	return file, signature, err
}

func atlasVerify(a *app) *cobra.Command {
	var key string
	c := &cobra.Command{
		Use: "verify FILE|URL", Short: "Check the signature and every claim of an atlas; install nothing",
		Long:    `Verify does what update does before it installs anything.` + atlasStatuses,
		Example: `  assay atlas verify atlas.jsonl.br --key publisher.pub`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			keys, err := a.trusted(key)
			if err != nil {
				return err
			}
			v, err := a.verifiedAtlas(c.Context(), args[0], keys)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s\nsigned by key %s\n%d of %d claims about %d types are known, the newest of %s\n", v.Hash, v.Key, v.Quality.Known, v.Quality.Claims, v.Quality.Types, v.Quality.Newest.Format(time.DateOnly))
			return nil
		},
	}
	c.Flags().StringVar(&key, "key", "", "the publisher's public key, or a file with it")
	return c
}

func atlasReset(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "reset", Short: "Go back to the atlas that the program carries",
		Long:    `Reset removes what update installed.` + atlasStatuses,
		Example: `  assay atlas reset`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			shelf, err := a.shelf()
			if err != nil {
				return err
			}
			return shelf.Reset()
		},
	}
}

// atlasInUse is the top level of atlas info --json.
type atlasInUse struct {
	Schema    int    `json:"schema"`
	Installed string `json:"installed,omitempty"` // hash of what update installed
	Problem   string `json:"problem,omitempty"`   // why that is not in use
	atlas.Quality
}

func atlasInfo(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Which atlas is in use",
		Long:    `Info says whether the atlas in use is the program's own or an installed one, and what is in it.` + atlasStatuses,
		Example: `  assay atlas info`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			book, err := a.book()
			if err != nil {
				return err
			}
			in := atlasInUse{Schema: cell.Schema}
			if in.Quality, err = book.Quality(); err != nil {
				return err
			}
			if shelf, err := a.shelf(); err == nil {
				in.Installed = shelf.Current()
				if _, err := shelf.Load(); err != nil {
					in.Problem = err.Error()
				}
			}
			return a.print(in, in.write)
		},
	}
}

func (in atlasInUse) write(w io.Writer) error {
	which := "the program's own atlas"
	switch {
	case in.Problem != "":
		which += fmt.Sprintf("; the installed %.12s is not used: %s", in.Installed, in.Problem)
	case in.Installed != "":
		which = fmt.Sprintf("the installed atlas %.12s", in.Installed)
	}
	_, err := fmt.Fprintf(w, "%s\n%d of %d claims about %d types are known, of %s to %s, transformers %s\n", which, in.Known, in.Claims, in.Types,
		in.Oldest.Format(time.DateOnly), in.Newest.Format(time.DateOnly), in.Transformers)
	return err
}

// atlasQualityAnswer is the top level of atlas quality --json.
type atlasQualityAnswer struct {
	Schema int `json:"schema"`
	atlas.Quality
}

func atlasQuality(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "quality", Short: "How well the atlas is founded, platform by platform",
		Long: `Quality counts the types of each platform by the strongest evidence that is known of each (measured, emulated, compiled, derived;
unknown is the rest), with the age of the results. A share stands with its denominator, and only where 90 % of the types that
can be planned, those with a known recipe, have an answer; else the row says incomplete, and how many of how many. Unknown is no answer.` + atlasStatuses,
		Example: `  assay atlas quality`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			book, err := a.book()
			if err != nil {
				return err
			}
			q, err := book.Quality()
			if err != nil {
				return err
			}
			return a.print(atlasQualityAnswer{cell.Schema, q}, func(w io.Writer) error { return q.WriteText(w, time.Now()) })
		},
	}
}

// atlasDifference is the top level of atlas diff --json.
type atlasDifference struct {
	Schema int `json:"schema"`
	atlas.Difference
}

func atlasDiff(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "diff A B", Short: "What differs between two atlases",
		Long: `Diff lists the claims that are gained, lost, or say something else in B than in A. Each is a file, embedded (the program's own) or
current (the one in use). Signatures are not looked at.` + atlasStatuses,
		Example: `  assay atlas diff embedded current`,
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			var books []*atlas.Book
			for _, name := range args {
				b, err := a.openAtlas(c.Context(), name)
				if err != nil {
					return err
				}
				books = append(books, b)
			}
			d, err := atlas.Diff(books[0], books[1])
			if err != nil {
				return err
			}
			return a.print(atlasDifference{cell.Schema, d}, d.WriteText)
		},
	}
}

// openAtlas opens the atlas that a user named.
func (a *app) openAtlas(ctx context.Context, name string) (*atlas.Book, error) {
	switch name {
	case "embedded":
		return atlas.Embedded()
	case "current":
		return a.book()
	}
	const wanted = "a file that assay atlas export wrote, embedded or current"
	file, err := given(ctx, name, wanted, a.stdin, edition.Most)
	if err != nil {
		return nil, err
	}
	b, err := atlas.Open(bytes.NewReader(file))
	if err != nil {
		return nil, usage("%s is not an atlas (%w): name %s", name, err, wanted)
	}
	return b, nil
}

func atlasExport(*app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "export", Short: "Write the atlas that the program carries into a file, to sign and to publish",
		Long:    `Export writes the program's own atlas. A publisher signs it with minisign (minisign -Sm FILE); update takes both files.` + atlasStatuses,
		Example: `  assay atlas export --out atlas.jsonl.br`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return usage("name the file to write: --out FILE")
			}
			return wholefile.Write(out, atlas.File(), wholefile.Options{Mode: 0o644})
		},
	}
	c.Flags().StringVar(&out, "out", "", "the file to write")
	return c
}

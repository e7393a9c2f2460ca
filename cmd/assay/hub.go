package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/hub"

	"github.com/spf13/cobra"
)

// hubFlags are shared by the commands that may load real weights.
type hubFlags struct {
	offline, pickle, code bool
}

func (f *hubFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.BoolVar(&f.offline, "offline", false, "take weights from the cache only (also HF_HUB_OFFLINE=1)")
	fs.BoolVar(&f.pickle, "allow-pickle", false, "also load pickled weights, as plain tensors: code in them is refused all the same")
	fs.BoolVar(&f.code, "trust-remote-code", false, "run the code that a model brings itself")
}

func (f *hubFlags) want() hub.Want { return hub.Want{Pickle: f.pickle, Code: f.code} }

// open opens the Hub that the environment names. say hears of its progress.
func (a *app) open(f *hubFlags, say func(string)) (*hub.Hub, error) {
	s, err := hub.FromEnvironment(a.getenv)
	if err != nil {
		return nil, err
	}
	if f.offline {
		s.Forbidden = "--offline"
	}
	o := hub.Options{Settings: s, Say: say, Free: free, Agent: "assay/" + version}
	if a.terminal {
		o.Every = time.Second
	}
	return hub.New(o), nil
}

func free(dir string) (uint64, error) {
	n, _, err := environment.Free(dir)
	return n, err
}

// hubUsage makes wrong usage of what the user gave wrongly.
func hubUsage(err error) error {
	for _, k := range []hub.Kind{hub.BadName, hub.BadConfig, hub.Pickled, hub.OwnCode} {
		if hub.IsKind(err, k) {
			return usage("%w", err)
		}
	}
	return err
}

// published turns an argument into a model of the Hub: any owner/name that the
// catalogue does not know, and any checkpoint with a revision after an @. ok is
// false for what the catalogue is to answer itself.
func published(cat *catalog.Catalog, name string) (ref hub.Ref, ok bool, err error) {
	bare, _, revised := strings.Cut(name, "@")
	known, err := cat.Resolve(bare)
	unknown := (*catalog.UnknownModelError)(nil)
	switch {
	case err == nil && !revised, errors.As(err, &unknown) && !revised && !strings.Contains(bare, "/"):
		return hub.Ref{}, false, nil
	case err == nil && known.Checkpoint == "":
		return hub.Ref{}, false, usage("%s is a type, which has no revisions: name one of its checkpoints", bare)
	}
	ref, bad := hub.ParseRef(name)
	if bad != nil {
		return ref, false, hubUsage(bad)
	}
	if err == nil {
		ref.Model = known.Checkpoint
	}
	return ref, true, nil
}

// fromHub is a model that only the Hub, or its cache, knows: its config.json
// says what it is. Nothing is loaded unless --weights was given.
func (a *app) fromHub(ctx context.Context, f *carryFlags, cat *catalog.Catalog, ref hub.Ref) (cell.Cell, error) {
	h, err := a.open(&f.hubFlags, a.say)
	if err != nil {
		return cell.Cell{}, err
	}
	look := h.Cached
	if f.weights != "" {
		look = func(ref hub.Ref, w hub.Want) (hub.Snapshot, error) { return h.Fetch(ctx, ref, w) }
	}
	s, err := look(ref, hub.Want{ConfigOnly: true})
	if hub.IsKind(err, hub.Offline) && f.weights == "" {
		return cell.Cell{}, usage("%s is neither in the catalogue nor in the Hugging Face cache: --weights hub loads it from the Hub, --weights random only its config.json", ref)
	}
	if err != nil {
		return cell.Cell{}, hubUsage(err)
	}
	c, err := configured(cat, f, filepath.Join(s.Folder, "config.json"), "the config.json of "+ref.String())
	if err != nil {
		return c, err
	}
	c.Checkpoint, c.Revision, c.Weights = ref.Model, ref.Revision, f.weights
	switch {
	case c.Weights == "":
		c.Weights = a.athand(f, ref, true)
	case c.Weights != cell.Random && c.Weights != cell.Hub:
		return c, given(&c)
	}
	return c, nil
}

// athand is hub for a checkpoint whose own weights are in the cache; else
// random, and a word about it where the checkpoint was named.
func (a *app) athand(f *carryFlags, ref hub.Ref, named bool) string {
	h, err := a.open(&f.hubFlags, a.say)
	if err == nil {
		_, err = h.Cached(ref, f.want())
	}
	switch {
	case err == nil:
		return cell.Hub
	case named && hub.IsKind(err, hub.Offline):
		a.say(fmt.Sprintf("%s: its own weights are not in the Hugging Face cache; random weights of its true size are used (--weights hub loads them)", ref))
	case named:
		a.say(fmt.Sprintf("%s: %v; random weights of its true size are used", ref, err))
	}
	return cell.Random
}

// configured is a model as a config.json has it. Its own code is refused here,
// before anything runs.
func configured(cat *catalog.Catalog, f *carryFlags, path, shown string) (cell.Cell, error) {
	config, err := hub.ReadConfig(path, shown)
	if err != nil {
		return cell.Cell{}, hubUsage(err)
	}
	if f.size == cell.Tiny {
		return cell.Cell{}, usage("%s says which size the model has: for a tiny one name its type, %s", shown, config.Type)
	}
	c := cell.Cell{Type: config.Type, Size: cell.Full}
	e, known := cat.Get(config.Type)
	if !known {
		if err := config.RefuseCode(shown, f.code); err != nil {
			return c, hubUsage(err)
		}
	}
	c.Family = e.Family
	return c, nil
}

// folder is a model of the user's: a config.json, with weights beside it or not.
func (a *app) folder(path string, f *carryFlags, cat *catalog.Catalog) (cell.Cell, error) {
	config := path
	if isFolder(path) {
		config = filepath.Join(path, "config.json")
	}
	abs, err := filepath.Abs(config)
	if err != nil {
		return cell.Cell{}, err
	}
	c, err := configured(cat, f, abs, config)
	if err != nil {
		return c, err
	}
	c.Checkpoint, c.Weights = abs, f.weights
	switch c.Weights {
	case cell.Random:
	case cell.Hub:
		return c, usage("--weights hub goes with a checkpoint's name, not with a folder")
	case "":
		_, err := hub.Inspect(filepath.Dir(abs), f.want())
		switch {
		case hub.IsKind(err, hub.Pickled):
			return c, hubUsage(err)
		case !hub.IsKind(err, hub.NoWeights): // damaged ones too: the result says so
			c.Weights = filepath.Dir(abs)
		}
	default:
		return c, given(&c)
	}
	return c, nil
}

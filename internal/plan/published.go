package plan

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/hub"
)

// Checkpoint is the model of the Hub that a name means, to be loaded ahead of its
// use: a type's is its first known checkpoint. The revision is that of a name
// that has none.
func Checkpoint(cat *catalog.Catalog, name, revision string) (hub.Ref, error) {
	ref, ok, err := findPublished(cat, name)
	if err != nil {
		return ref, err
	}
	if !ok {
		r, err := cat.Resolve(name)
		if err != nil {
			return ref, &RequestError{err}
		}
		c := cell.Cell{Type: r.Entry.Type, Checkpoint: r.Checkpoint, Size: cell.Full}
		if settleCheckpoint(&c, cat); c.Checkpoint == "" {
			return ref, refuse("no checkpoint of %s is known: name one as owner/name", c.Type)
		}
		ref.Model = c.Checkpoint
	}
	if ref.Revision == "" {
		ref.Revision = revision
	}
	return ref, blame(ref.Check())
}

// findPublished turns a name into a model of the Hub: any owner/name that the
// catalogue does not know, and any checkpoint with a revision after an @. ok is
// false for what the catalogue is to answer itself.
func findPublished(cat *catalog.Catalog, name string) (ref hub.Ref, ok bool, err error) {
	bare, _, revised := strings.Cut(name, "@")
	known, err := cat.Resolve(bare)
	unknown, ambiguous := (*catalog.UnknownModelError)(nil), (*catalog.AmbiguousError)(nil)
	switch {
	case errors.As(err, &ambiguous): // its configuration tells
	case err == nil && !revised, errors.As(err, &unknown) && !revised && !strings.Contains(bare, "/"):
		return hub.Ref{}, false, nil
	case err == nil && known.Checkpoint == "":
		return hub.Ref{}, false, refuse("%s is a type, which has no revisions: name one of its checkpoints", bare)
	}
	ref, bad := hub.ParseRef(name)
	if bad != nil {
		return ref, false, blame(bad)
	}
	if err == nil {
		ref.Model = known.Checkpoint
	}
	return ref, true, nil
}

// openPublished is a model that only the Hub, or its cache, knows: its config.json
// says what it is. Nothing is loaded unless weights were asked for.
func (p *Planner) openPublished(ctx context.Context, r Request, ref hub.Ref) (cell.Cell, error) {
	h, err := p.Hub()
	if err != nil {
		return cell.Cell{}, err
	}
	look := h.Cached
	if r.Weights != "" {
		look = func(ref hub.Ref, w hub.Want) (hub.Snapshot, error) { return h.Fetch(ctx, ref, w) }
	}
	s, err := look(ref, hub.Want{ConfigOnly: true})
	if hub.IsKind(err, hub.Offline) && r.Weights == "" {
		return cell.Cell{}, refuse("%s is neither in the catalogue nor in the Hugging Face cache: --weights hub loads it from the Hub, --weights random only its config.json", ref)
	}
	if err != nil {
		return cell.Cell{}, blame(err)
	}
	c, err := readConfig(p.Catalog, r.Size, p.Allow.Code, filepath.Join(s.Folder, "config.json"), "the config.json of "+ref.String())
	if err != nil {
		return c, err
	}
	c.Checkpoint, c.Revision, c.Weights = ref.Model, ref.Revision, r.Weights
	switch {
	case c.Weights == "":
		c.Weights = p.pickWeights(ref, true)
	case isFolderName(c.Weights):
		return c, openWeights(&c)
	}
	return c, nil
}

// pickWeights is hub for a checkpoint whose own weights are in the cache; else
// random, and a word about it where the checkpoint was named.
func (p *Planner) pickWeights(ref hub.Ref, named bool) string {
	h, err := p.Hub()
	if err == nil {
		_, err = h.Cached(ref, p.Allow)
	}
	switch {
	case err == nil:
		return cell.Hub
	case named && hub.IsKind(err, hub.Offline):
		p.say("%s: its own weights are not in the Hugging Face cache; random weights of its true size are used (--weights hub loads them)", ref)
	case named:
		p.say("%s: %v; random weights of its true size are used", ref, err)
	}
	return cell.Random
}

// blame makes a request's fault of what is wrong with what it named.
func blame(err error) error {
	if hub.IsMisuse(err) {
		return &RequestError{err}
	}
	return err
}

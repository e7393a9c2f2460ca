package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"assay/internal/safetensors"

	"golang.org/x/sync/errgroup"
)

// Snapshot is a model's files as they lie on this disk.
type Snapshot struct {
	Model    string `json:"model"`
	Revision string `json:"revision"` // as it was asked for
	Commit   string `json:"commit"`   // what that is
	Folder   string `json:"folder"`
	Files    []File `json:"files"`
	Bytes    int64  `json:"bytes"`        // of all files
	Loaded   int64  `json:"loaded_bytes"` // of those that were not in the cache
	Format   Format `json:"format,omitempty"`
}

// File is one file of a snapshot.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Loaded says that it was not in the cache before.
	Loaded bool `json:"loaded"`
	// Checksum is what it was compared with: "" where the server gave none.
	Checksum string `json:"checksum,omitempty"`
}

// atOnce is how many files are loaded in parallel.
const atOnce = 4

// Fetch brings a model's files into the cache, as far as they are not there,
// and returns their folder. Where it may not use the network it takes what the
// cache has; where the server cannot be reached too, with a word.
func (h *Hub) Fetch(ctx context.Context, ref Ref, w Want) (Snapshot, error) {
	if err := ref.Check(); err != nil {
		return Snapshot{}, err
	}
	if h.o.Forbidden != "" {
		return h.Cached(ref, w)
	}
	l, err := h.list(ctx, ref)
	if IsKind(err, Unreachable) {
		if s, missing := h.Cached(ref, w); missing == nil {
			h.o.Say(fmt.Sprintf("%v; the copy in the cache is used (commit %.12s)", err, s.Commit))
			return s, nil
		}
	}
	if err != nil {
		return Snapshot{}, err
	}
	f := &fetching{Hub: h, ref: ref, want: w, listing: l, s: Snapshot{
		Model: ref.Model, Revision: ref.revision(), Commit: l.Commit, Folder: h.cache.snapshot(ref.Model, l.Commit),
	}}
	if err := f.run(ctx); err != nil {
		return Snapshot{}, err
	}
	return f.s, nil
}

// fetching is one Fetch under way.
type fetching struct {
	*Hub
	ref     Ref
	want    Want
	listing listing
	s       Snapshot
}

// run loads what describes the model first: a refusal is cheap then, and an
// index says which files of weights there are.
func (f *fetching) run(ctx context.Context) error {
	var small []remote
	for _, r := range f.listing.Files {
		if f.want.wanted(r.Name) {
			small = append(small, r)
		}
	}
	if !slices.ContainsFunc(small, func(r remote) bool { return r.Name == "config.json" }) {
		return &Error{Kind: NotFound, Problem: f.ref.String() + " has no config.json", Hint: "it is not a model of transformers, or not at this revision"}
	}
	var main weights
	if !f.want.ConfigOnly {
		var err error
		if main, err = pick(f.names(), f.ref.String(), f.want); err != nil {
			return err
		}
		f.s.Format = main.Format
		if main.Index {
			small = append(small, f.named(main.Name))
		}
	}
	if err := f.all(ctx, small); err != nil {
		return err
	}
	large, err := f.shards(main)
	if err == nil {
		err = f.all(ctx, large)
	}
	if err != nil {
		return err
	}
	if err := f.cache.remember(f.ref, f.s.Commit); err != nil {
		return unwritable(err)
	}
	if f.want.ConfigOnly {
		return nil
	}
	_, err = Inspect(f.s.Folder, f.want)
	return err
}

func (f *fetching) names() []string {
	var out []string
	for _, r := range f.listing.Files {
		out = append(out, r.Name)
	}
	return out
}

// named is a file of the list, which has it.
func (f *fetching) named(name string) remote {
	return f.listing.Files[slices.IndexFunc(f.listing.Files, func(r remote) bool { return r.Name == name })]
}

// shards are the files that hold the weights themselves.
func (f *fetching) shards(main weights) ([]remote, error) {
	if main.Name == "" {
		return nil, nil
	}
	if !main.Index {
		return []remote{f.named(main.Name)}, nil
	}
	index, err := safetensors.OpenIndex(filepath.Join(f.s.Folder, main.Name))
	if err != nil {
		return nil, damaged(err)
	}
	var out []remote
	for _, name := range index.Files() {
		if !slices.Contains(f.names(), name) {
			return nil, &Error{Kind: NoWeights, Problem: fmt.Sprintf("the index of %s names %s, which is not there", f.ref, quoted(name)), Hint: "name another revision: this one is incomplete"}
		}
		out = append(out, f.named(name))
	}
	return out, nil
}

// all loads files in parallel and shows them in the snapshot. The first error
// stops the rest.
func (f *fetching) all(ctx context.Context, files []remote) error {
	need, had, err := f.missing(ctx, files)
	if err != nil {
		return err
	}
	if err := f.room(need - had); err != nil {
		return err
	}
	p := f.newProgress(f.ref, len(files), need, had)
	defer p.close()
	out := make([]File, len(files))
	g, stopped := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, r := range files {
		g.Go(func() error {
			if stopped.Err() != nil {
				return context.Cause(stopped)
			}
			fresh, err := f.load(stopped, f.ref, f.s.Commit, r, p)
			if err == nil {
				err = unwritableLink(f.cache.link(f.ref.Model, f.s.Commit, r))
			}
			p.done.Add(1)
			out[i] = File{Name: r.Name, Bytes: r.Size, Loaded: fresh, Checksum: r.Sum.hex}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return context.Cause(stopped) // the caller's own reason, if that came first
	}
	f.s.add(out)
	return nil
}

func unwritableLink(err error) error {
	if err == nil {
		return nil
	}
	return unwritable(err)
}

func (s *Snapshot) add(files []File) {
	for _, f := range files {
		s.Bytes += f.Bytes
		if f.Loaded {
			s.Loaded += f.Bytes
		}
	}
	s.Files = append(s.Files, files...)
}

// missing is how many bytes the files that are not in the cache have, and how
// many of them an earlier try has left there. Sizes that the list leaves out
// are asked for.
func (f *fetching) missing(ctx context.Context, files []remote) (need, had int64, err error) {
	for i := range files {
		if err := f.complete(ctx, f.ref, f.s.Commit, &files[i]); err != nil {
			return 0, 0, err
		}
		r := files[i]
		blob := f.cache.blob(f.ref.Model, r.Tag)
		if has(blob, r.Size) {
			continue
		}
		need += r.Size
		had += min(r.Size, sizeOf(blob+".incomplete"))
	}
	return need, had, nil
}

// room says when the disk cannot hold what will be downloaded.
func (f *fetching) room(need int64) error {
	if f.o.Free == nil || need <= 0 {
		return nil
	}
	free, err := f.o.Free(f.cache.dir)
	if err != nil {
		return unwritable(err)
	}
	if uint64(need) > free {
		return &Error{Kind: NoSpace, Problem: fmt.Sprintf("%s needs %s, and %s are free on the disk of %s", f.ref, size(need), size(int64(min(free, 1<<62))), f.cache.dir),
			Hint: "make room, or set HF_HUB_CACHE to a folder on another disk"}
	}
	return nil
}

// Cached returns what the cache has of a model, without a connection. A model
// that is not there whole is an error.
func (h *Hub) Cached(ref Ref, w Want) (Snapshot, error) {
	if err := ref.Check(); err != nil {
		return Snapshot{}, err
	}
	commit, known := h.cache.commit(ref)
	s := Snapshot{Model: ref.Model, Revision: ref.revision(), Commit: commit, Folder: h.cache.snapshot(ref.Model, commit)}
	if !known || sizeOf(filepath.Join(s.Folder, "config.json")) == 0 {
		return Snapshot{}, h.notCached(ref, nil)
	}
	var found Weights
	if !w.ConfigOnly {
		var err error
		if found, err = Inspect(s.Folder, w); err != nil {
			if IsKind(err, NoWeights) || errors.Is(err, fs.ErrNotExist) {
				err = h.notCached(ref, err)
			}
			return Snapshot{}, err
		}
		s.Format = found.Format
	}
	files, err := lying(s.Folder, w, found.Files)
	if err != nil {
		return Snapshot{}, unwritable(err)
	}
	s.add(files)
	return s, nil
}

// notCached tells an offline machine what is missing.
func (h *Hub) notCached(ref Ref, why error) error {
	problem := fmt.Sprintf("%s is not in the Hugging Face cache %s", ref, h.cache.dir)
	if why != nil {
		problem = fmt.Sprintf("%s is not in the Hugging Face cache with all its files (%v)", ref, why)
	}
	if h.o.Forbidden != "" {
		problem += ", and " + h.o.Forbidden + " forbids the network"
	}
	return &Error{Kind: Offline, Problem: problem, Hint: "run assay fetch " + ref.String() + " where there is a network", Err: why}
}

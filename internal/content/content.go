// Package content tells a user's own files apart by their contents, so that
// a model whose weights were edited in place is a different one even if its path,
// its size and its times are unchanged.
//
// Every byte of a file is hashed, once. A Book remembers the digest of a large
// file beside what the kernel says about its last change, so that fifteen
// gigabytes are read again only when something wrote to them. Only what nobody can
// set back is trusted: on Linux and macOS the inode's change time, and
// only when it is some seconds old, since a clock tick may hold two writes.
// Where a system has no such time files are hashed each time.
package content

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/input"
	"assay/internal/wholefile"

	"golang.org/x/sync/errgroup"
)

const (
	// large is from which size on a digest is worth remembering.
	large = 4 << 20
	// settled is how long a file must have been left alone before its digest
	// is remembered.
	settled = 3 * time.Second
	// readers is how many files are hashed at once: disks like some company.
	readers = 4
)

// Book remembers digests in a folder; with Dir "" only as long as it lives.
// It is safe for concurrent use.
type Book struct {
	Dir string

	mu    sync.Mutex
	known map[string]entry // by path
}

// entry is what was found of a file at some time.
type entry struct {
	Path   string `json:"path"`
	Change string `json:"change"` // what the kernel says of the last change
	Digest string `json:"digest"`
}

// Files is the digest of these files: of their names within root and of all
// that they hold. Their order is of no matter.
func (b *Book) Files(ctx context.Context, root string, paths []string) (string, error) {
	lines := make([]string, len(paths))
	errs := make([]error, len(paths))
	var g errgroup.Group
	g.SetLimit(readers)
	for i, path := range paths {
		g.Go(func() error {
			digest, err := b.file(ctx, path)
			lines[i], errs[i] = within(root, path)+" "+digest, err
			return err
		})
	}
	if g.Wait() != nil {
		return "", errors.Join(errs...) // what is wrong with each of them
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

func within(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// hashed is a file that Hugging Face's cache names by its own SHA-256.
var hashed = regexp.MustCompile(`^[0-9a-f]{64}$`)

// file is the digest of one file.
func (b *Book) file(ctx context.Context, path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("check whether %s changed: %w", path, err)
	}
	if name := filepath.Base(target); hashed.MatchString(name) && filepath.Base(filepath.Dir(target)) == "blobs" {
		return name, nil
	}
	f, err := input.Open(target)
	if err != nil {
		return "", fmt.Errorf("check whether %s changed: %w", path, err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("check whether %s changed: %w", path, err)
	}
	when, told := changed(before)
	if e, ok := b.remembered(target); ok && told && e.Change == when.key {
		return e.Digest, nil
	}
	digest, err := hash(ctx, f)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	after, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("check whether %s changed: %w", path, err)
	}
	if now, ok := changed(after); ok && now.key == when.key && time.Since(now.at) > settled && after.Size() >= large {
		b.remember(entry{target, now.key, digest})
	}
	return digest, nil
}

// change is what the kernel says of a file's last change.
type change struct {
	key string
	at  time.Time
}

func hash(ctx context.Context, r io.Reader) (string, error) {
	total := sha256.New()
	piece := make([]byte, 1<<20)
	for {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		n, err := r.Read(piece)
		total.Write(piece[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(total.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// place is where an entry is kept.
func (b *Book) place(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(b.Dir, hex.EncodeToString(sum[:16])+".json")
}

func (b *Book) remembered(path string) (entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.known[path]; ok {
		return e, true
	}
	if b.Dir == "" {
		return entry{}, false
	}
	text, err := os.ReadFile(b.place(path))
	var e entry
	if err != nil || json.Unmarshal(text, &e) != nil || e.Path != path || !hashed.MatchString(e.Digest) {
		return entry{}, false // it is hashed again
	}
	return e, true
}

// remember keeps an entry. One that cannot be written costs only time.
func (b *Book) remember(e entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]entry{}
	}
	b.known[e.Path] = e
	if b.Dir == "" {
		return
	}
	text, err := json.Marshal(e)
	if err != nil || os.MkdirAll(b.Dir, 0o755) != nil {
		return
	}
	_ = wholefile.Write(b.place(e.Path), text, wholefile.Options{})
}

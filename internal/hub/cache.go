package hub

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/wholefile"
)

// cache is Hugging Face's cache folder:
//
//	models--owner--name/refs/main                     the commit that main was
//	models--owner--name/blobs/<tag>                   bytes, named by their hash
//	models--owner--name/blobs/<tag>.incomplete        a file under way
//	models--owner--name/snapshots/<commit>/config.json → ../../blobs/<tag>
//	.locks/models--owner--name/<tag>.lock
type cache struct{ dir string }

func (c cache) folder(model string) string { return "models--" + strings.ReplaceAll(model, "/", "--") }

func (c cache) blob(model, tag string) string {
	return filepath.Join(c.dir, c.folder(model), "blobs", tag)
}

func (c cache) snapshot(model, commit string) string {
	return filepath.Join(c.dir, c.folder(model), "snapshots", commit)
}

func (c cache) ref(r Ref) string {
	return filepath.Join(c.dir, c.folder(r.Model), "refs", filepath.FromSlash(r.revision()))
}

func (c cache) lock(model, tag string) string {
	return filepath.Join(c.dir, ".locks", c.folder(model), tag+".lock")
}

// commit is what a revision was when it was last asked for.
func (c cache) commit(r Ref) (string, bool) {
	if commitID.MatchString(r.Revision) {
		return r.Revision, true
	}
	b, err := os.ReadFile(c.ref(r))
	id := strings.TrimSpace(string(b))
	return id, err == nil && commitID.MatchString(id)
}

// remember writes down what a revision is, at once or not at all.
func (c cache) remember(r Ref, commit string) error {
	if r.revision() == commit {
		return nil
	}
	path := c.ref(r)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return wholefile.Write(path, []byte(commit), wholefile.Options{Mode: 0o644})
}

// has reports whether a file is there with this size.
func has(path string, size int64) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// link shows a blob in a snapshot under its own name. Where the system has no
// symbolic links the blob is linked hard, or copied.
func (c cache) link(model, commit string, f remote) error {
	path := filepath.Join(c.snapshot(model, commit), filepath.FromSlash(f.Name))
	blob := c.blob(model, f.Tag)
	if has(path, f.Size) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return err
	}
	if err = os.Symlink(target, path); err != nil && !errors.Is(err, fs.ErrExist) {
		if err = os.Link(blob, path); err != nil {
			err = copyFile(blob, path)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another program may have been first
		return fmt.Errorf("show %s in the snapshot: %w", f.Name, err)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// sizeOf is a file's size; 0 when it is not there.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// lying are the wanted files of a folder, those with weights last.
func lying(folder string, w Want, weights []string) ([]File, error) {
	var out []File
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if name = filepath.ToSlash(name); err == nil && w.wanted(name) {
			out = append(out, File{Name: name, Bytes: sizeOf(path)})
		}
		return err
	})
	for _, name := range weights {
		out = append(out, File{Name: name, Bytes: sizeOf(filepath.Join(folder, name))})
	}
	return out, err
}
